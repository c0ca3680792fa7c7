package import SettingsAPI
package import SettingsModel

/// A pending action of a state, with the commit that the action reverts. A pending action is a revert or a scheduled
/// write that the daemon carries out at a deadline.
package final class PendingEntry: Sendable {
    package let action: PendingAction
    /// The commit that the action reverts, with the values that the commit replaced; nil for a scheduled write. The
    /// entry refers to the commit, so that the revert is possible after the history in memory has evicted the commit.
    package let commit: RetainedCommit?
    /// The suites (named sets of settings) that the commit dropped and that a later commit created again. The revert
    /// does not restore these suites.
    package let recreated: Set<SuiteName>
    /// The approximate number of bytes of memory that the entry takes.
    package let size: Int

    package init(_ action: PendingAction, commit: RetainedCommit?, recreated: Set<SuiteName> = []) {
        self.action = action
        self.commit = commit
        self.recreated = recreated
        size = action.memorySize + (commit?.size ?? 0)
    }

    /// The suites that the action concerns, without duplicates. Each scope is a part of one suite.
    package var suites: Set<SuiteName> { Set(action.scopes.map(\.suite)) }
}

extension Sequence<PendingEntry> {
    /// The entries by deadline. Entries with the same deadline are in the order of their creation.
    package var byDeadline: [PendingEntry] {
        sorted { ($0.action.deadline, $0.action.id) < ($1.action.deadline, $1.action.id) }
    }
}

/// The pending actions of a state: the reverts and the scheduled writes that the daemon will carry out.
package struct PendingActions: Sendable {
    /// The maximum number of pending actions. It bounds the time of a commit that creates a suite, because such a
    /// commit visits all entries.
    package static let maximumCount = 10_000
    /// The maximum number of pending actions that concern the same suite, so that the actions of one suite cannot reach
    /// ``maximumCount``.
    package static let maximumCountPerSuite = 1000

    private var entries: [PendingID: PendingEntry] = [:]
    private var idsByCommit: [Revision: PendingID] = [:]
    private var countsBySuite: [SuiteName: Int] = [:]
    /// The revision (the number) of the last commit that changed the pending actions. The start value after a restart
    /// is the revision of the snapshot (a file with a whole state) if the snapshot has pending actions; otherwise zero.
    package private(set) var lastChange = Revision.zero
    /// The approximate number of bytes of memory that the entries take.
    package private(set) var size = 0

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }
    package var all: some Collection<PendingEntry> { entries.values }

    package subscript(_ id: PendingID) -> PendingEntry? { entries[id] }

    /// Returns the action that reverts a commit.
    package func revert(of commit: Revision) -> PendingEntry? {
        isEmpty ? nil : idsByCommit[commit].flatMap { entries[$0] }
    }

    package func count(of suite: SuiteName) -> Int { countsBySuite[suite] ?? 0 }

    package var byDeadline: [PendingEntry] { entries.values.byDeadline }

    /// Restores an entry from a snapshot. `lastChange` is the revision of the snapshot.
    package mutating func restore(_ entry: PendingEntry, lastChange: Revision) {
        set(entry)
        self.lastChange = lastChange
    }

    /// Applies the events of a commit. If the commit creates a suite that a pending revert would restore, records that
    /// the revert must not restore the suite.
    mutating func apply(_ retained: RetainedCommit) throws(CommitMismatch) {
        for event in retained.commit.pending {
            switch event {
            case .created(let action): try set(action, from: retained)
            case .moved(let action), .ended(let action, _):
                guard entries[action.id] != nil else { throw CommitMismatch("there is no pending action \(action.id)") }
                if event.end == nil { try set(action, from: retained) } else { remove(action.id) }
            }
        }
        if !retained.commit.pending.isEmpty { lastChange = retained.revision }
        for change in retained.commit.suiteChanges where change.kind == .created {
            recordCreation(of: change.suite, by: retained)
        }
    }

    /// Adds or replaces the entry of an action that a commit created or moved to another deadline.
    private mutating func set(_ action: PendingAction, from retained: RetainedCommit) throws(CommitMismatch) {
        let before = entries[action.id]
        var commit: RetainedCommit?
        if let revision = action.commit {
            commit = revision == retained.revision ? retained : before?.commit
            guard commit?.revision == revision else {
                throw CommitMismatch("pending action \(action.id) reverts commit \(revision), which is not known")
            }
        }
        set(PendingEntry(action, commit: commit, recreated: before?.recreated ?? []))
    }

    /// Records in the entries that a commit creates a suite. A revert must not restore a suite that its commit dropped
    /// and that a later commit has created again.
    private mutating func recordCreation(of suite: SuiteName, by retained: RetainedCommit) {
        for entry in entries.values where entry.commit.map({ $0.revision < retained.revision }) ?? false {
            guard let commit = entry.commit?.commit, !entry.recreated.contains(suite),
                commit.suiteChanges.contains(where: { $0.suite == suite && $0.kind == .dropped })
            else { continue }
            set(PendingEntry(entry.action, commit: entry.commit, recreated: entry.recreated.union([suite])))
        }
    }

    private mutating func set(_ entry: PendingEntry) {
        remove(entry.action.id)
        entries[entry.action.id] = entry
        if let commit = entry.action.commit { idsByCommit[commit] = entry.action.id }
        for suite in entry.suites { countsBySuite[suite, default: 0] += 1 }
        size += entry.size
    }

    private mutating func remove(_ id: PendingID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        if let commit = entry.action.commit { idsByCommit[commit] = nil }
        for suite in entry.suites {
            let count = (countsBySuite[suite] ?? 1) - 1
            countsBySuite[suite] = count > 0 ? count : nil
        }
        size -= entry.size
    }
}

extension PendingAction {
    /// True if the action concerns this suite.
    package func concerns(_ suite: SuiteName) -> Bool { scopes.contains { $0.suite == suite } }

    /// The approximate number of bytes of memory that the action takes, without the commit that it reverts. A value
    /// takes up to eight times as many bytes in memory as in JSON.
    ///
    /// This method renders the action as JSON, which is slower than adding the sizes of its parts, but pending actions
    /// are rare.
    var memorySize: Int { MemoryLayout<PendingAction>.stride + 8 * jsonBytes().count }
}

extension PendingEvent {
    /// The approximate number of bytes of memory that the event takes in a commit, computed as for an action.
    var memorySize: Int { MemoryLayout<PendingEvent>.stride + 8 * jsonBytes().count }
}
