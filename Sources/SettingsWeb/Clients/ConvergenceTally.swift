internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Counts the present clients of a suite that have applied a target state, that have failed to apply it, and that have
/// reported neither (`missing`).
struct ConvergenceTally: Sendable {
    private var present = 0
    private var applied = 0
    private var failed = 0
    private var missing: [ClientName] = []
    private var failures: [Convergence.Failure] = []

    /// The subjects whose commits ``CommitRequirement`` must search to know the outcomes of clients.
    private(set) var unsearchedSubjects: Set<WatchSubject> = []

    /// Counts the clients. Does not collect names, because only an answer needs names, and most evaluations make no
    /// answer.
    init(_ table: borrowing ClientTable, _ requirement: CommitRequirement, at now: UInt64) {
        table.forEachPresent(in: requirement.suite, at: now) { client in
            present += 1
            switch requirement.outcome(of: client) {
            case .applied: applied += 1
            case .failed: failed += 1
            case .missing: break
            }
            if let subject = requirement.unsearchedSubject(of: client) { unsearchedSubjects.insert(subject) }
        }
    }

    /// - Parameter share: the required share of the present clients, in billionths.
    private func isConverged(_ share: Int) -> Bool {
        // The required number of clients is rounded up, so that a share of 0.95 of 10 clients means 10 clients.
        applied >= (share * present + Query.wholeShare - 1) / Query.wholeShare
    }

    /// True if a request that waits for this share is answered now: the share is reached, or a client has failed.
    func endsWait(forShare share: Int) -> Bool { isConverged(share) || failed > 0 }

    /// Collects the names of the clients that have not applied the target: the first names in the order of their bytes.
    mutating func collectNames(_ table: borrowing ClientTable, _ requirement: CommitRequirement, at now: UInt64) {
        table.forEachPresent(in: requirement.suite, at: now) { client in
            switch requirement.outcome(of: client) {
            case .applied: break
            case .failed:
                let failure = Convergence.Failure(name: client.name, reason: client.failure?.reason)
                Self.insert(failure, into: &failures, by: \.name)
            case .missing: Self.insert(client.name, into: &missing, by: \.self)
            }
        }
    }

    /// Inserts an element into a list that is sorted by name, and keeps the first ``Convergence/maximumNames``
    /// elements.
    private static func insert<Element>(
        _ element: Element, into list: inout [Element], by name: (Element) -> ClientName
    ) {
        let isFull = list.count == Convergence.maximumNames
        if isFull, let last = list.last, !name(element).text.precedesInBytes(name(last).text) { return }
        if isFull { list.removeLast() }
        let index = list.firstIndex { name(element).text.precedesInBytes(name($0).text) } ?? list.count
        list.insert(element, at: index)
    }

    func convergence(of suite: SuiteName, for target: Cursor, share: Int) -> Convergence {
        var convergence = Convergence(
            suite: suite, target: target, isConverged: isConverged(share), present: Int64(present),
            applied: Int64(applied), failed: Int64(failed))
        (convergence.missing, convergence.failures) = (missing, failures)
        return convergence
    }
}
