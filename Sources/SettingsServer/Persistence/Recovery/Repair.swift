package import SettingsModel

/// Making a damaged data directory usable again: what can be read up to the first damage is kept, the rest is put aside,
/// and a new epoch begins, so that nobody believes a revision of what is gone.
package struct Repair: Sendable {
    /// Something that a repair does.
    package enum Step: Hashable, Sendable, CustomStringConvertible {
        /// Cuts a file, and keeps what is cut in another one.
        case cut(name: String, offset: Int, size: Int, aside: String)
        /// Gives a file a name under which nothing reads it.
        case putAside(name: String, aside: String, reason: String)

        package var description: String {
            switch self {
            case .cut(let name, let offset, let size, let aside):
                "cut \(size - offset) of \(size) bytes off \(name), from byte \(offset) on, and keep them in \(aside)"
            case .putAside(let name, let aside, let reason):
                "rename \(name) to \(aside): \(reason)"
            }
        }
    }

    package let path: String
    /// What is wrong; nil if nothing is, and nothing is to be done.
    package let damage: RecoveryError?
    /// What is to be done.
    package private(set) var steps: [Step] = []
    /// What remains; nil if nothing does.
    package private(set) var state: State?
    private let limits: History.Limits
    private let directory: DataDirectory
    /// The last commit that remains, as the journals count.
    private let last: Revision
    /// The highest revision that any name tells of.
    private let highest: Revision

    /// Looks at a directory and says what a repair would do. Changes nothing.
    package init(_ directory: DataDirectory, limits: History.Limits = History.Limits()) throws(RecoveryError) {
        self.directory = directory
        self.limits = limits
        path = directory.path
        let recovery = Recovery(directory: directory, limits: limits)
        let names = try recovery.list()
        let snapshots = directory.snapshots(among: names)
        let journals = directory.journals(among: names)
        highest = max(snapshots.last?.revision ?? .zero, journals.last?.revision ?? .zero)
        do throws(RecoveryError) {
            let recovered = try recovery.run()
            damage = nil
            last = recovered?.last ?? .zero
            state = recovered?.state
            return
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = error
        }
        var search = RepairSearch(directory: directory, limits: limits)
        try search.run(snapshots, journals)
        state = search.best?.state
        last = search.best?.last ?? .zero
        for (name, reason) in search.unreadable { add(name, reason) }
        if let failure = search.failure, let place = failure.place {
            try cut(place, journals)
        } else if search.best == nil {
            for journal in journals { add(journal.name, "nothing leads to it") }
        }
    }

    /// Does what was said, under the lock of the directory, and begins a new epoch. Every moment of it leaves a directory
    /// that either is still refused or is whole.
    package func perform(newEpoch: () -> Epoch) throws(RecoveryError) {
        guard damage != nil else { return }
        let lock = try DirectoryLock(directory)
        defer { lock.release() }
        guard let revision = max(last, highest).advanced(by: DataDirectory.leap) else {
            throw RecoveryError(.damaged, "\(path): there are no revisions left")
        }
        let epoch = newEpoch()
        var state = state ?? State(epoch: epoch, limits: limits)
        state.beginEpoch(epoch, at: revision)
        do throws(FileError) {
            _ = try SnapshotWriter.write(state, in: directory)
            let head = JournalHead(epoch: state.epoch, revision: revision, after: last, durability: .always)
            do throws(Journal.Unbegun) {
                _ = try Journal(head, generation: 0, in: directory)
            } catch {
                throw error.cause
            }
            for step in steps {
                switch step {
                case .cut(let name, let offset, _, let aside): try directory.cut(name, at: offset, keepingAs: aside)
                case .putAside(let name, let aside, _):
                    try directory.fileSystem.rename(directory.path(of: name), to: directory.path(of: aside))
                }
            }
            try directory.fileSystem.syncDirectory(path)
        } catch {
            throw RecoveryError(error)
        }
    }

    /// Cuts the journal in which the damage is, and puts those behind it aside.
    private mutating func cut(
        _ place: RecoveryError.Place, _ journals: [DataDirectory.Numbered]
    ) throws(RecoveryError) {
        guard let first = journals.firstIndex(where: { $0.name == place.file }) else { return }
        for journal in journals[first...] where !steps.contains(where: { $0.name == journal.name }) {
            if journal.name == place.file, place.offset > 0 {
                let size: Int
                do {
                    size = try directory.fileSystem.status(directory.path(of: journal.name)).size
                } catch {
                    throw RecoveryError(error)
                }
                steps.append(
                    .cut(
                        name: journal.name, offset: place.offset, size: size,
                        aside: DataDirectory.asideName(of: "\(place.offset)-\(journal.name)")))
            } else {
                add(journal.name, journal.name == place.file ? "it does not follow" : "it comes after what is damaged")
            }
        }
    }

    private mutating func add(_ name: String, _ reason: String) {
        steps.append(.putAside(name: name, aside: DataDirectory.asideName(of: name), reason: reason))
    }

    /// What to print, a line each.
    package var lines: [String] {
        guard let damage else { return ["\(path): nothing to repair"] }
        return ["\(path) is damaged: \(damage)", "a repair would"] + steps.map { "  \($0)" }
            + [
                "and go on from revision \(last), \(state?.suites.count ?? 0) suites, in a new epoch. Commits beyond that are lost "
                    + "to the daemon; what is put aside is for people to look at"
            ]
    }
}

extension Repair.Step {
    /// The file that it is about.
    package var name: String {
        switch self {
        case .cut(let name, _, _, _), .putAside(let name, _, _): name
        }
    }
}

/// Finds from where most can be read.
private struct RepairSearch {
    let directory: DataDirectory
    let limits: History.Limits
    /// What most was read of.
    var best: Recovered?
    /// What ended it; nil if nothing did.
    var failure: RecoveryError?
    /// Files of which nothing can be used, with why.
    var unreadable: [(name: String, reason: String)] = []

    mutating func run(
        _ snapshots: [DataDirectory.Numbered], _ journals: [DataDirectory.Numbered]
    ) throws(RecoveryError) {
        var links: [JournalChain.Link] = []
        for (position, file) in journals.enumerated() {
            let reader = JournalReader(
                directory: directory, name: file.name, isNewest: position == journals.count - 1)
            do throws(RecoveryError) {
                if let head = try reader.head() { links.append(JournalChain.Link(name: file.name, head: head)) }
            } catch {
                guard error.kind == .damaged else { throw error }
                unreadable.append((file.name, "it does not begin as a journal"))
            }
        }
        let chain = JournalChain(directory: directory, links: links, keepsPrefix: true)
        for snapshot in snapshots.reversed() {
            let state: State
            do throws(SnapshotError) {
                state = try SnapshotReader.read(snapshot, in: directory, limits: limits)
            } catch {
                if case .file(let error) = error { throw RecoveryError(error) }
                unreadable.append((snapshot.name, "it is damaged (\(error.description))"))
                continue
            }
            try consider(Recovered(state, snapshot: state.revision), chain)
        }
        if let first = links.first, first.head.after == .zero {
            let beginning = State(epoch: first.head.epoch, revision: first.head.revision, limits: limits)
            try consider(Recovered(beginning), chain)
        }
    }

    private mutating func consider(_ start: Recovered, _ chain: JournalChain) throws(RecoveryError) {
        var recovered = start
        var failure: RecoveryError?
        do throws(RecoveryError) {
            try chain.replay(onto: &recovered)
        } catch {
            guard error.kind == .damaged else { throw error }
            failure = error
        }
        if let best, recovered.state.revision <= best.state.revision { return }
        best = recovered
        self.failure = failure
    }
}
