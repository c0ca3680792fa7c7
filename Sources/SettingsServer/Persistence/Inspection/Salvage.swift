internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The most that can be had from a directory that no start would take: the longest sound beginning of its history.
struct Salvage {
    /// What a beginning leads to.
    struct Reach {
        var state: State
        /// The snapshot that it begins with; nil for the beginning of history.
        var origin: String?
        /// Why it ends where it does, if something comes behind it.
        var end: RecoveryError?
    }

    /// The best there is; nil if there is nothing to begin with.
    private(set) var best: Reach?
    /// Files that cannot be read, or not from their beginning, with why.
    private(set) var unusable: [(name: String, reason: String)] = []
    /// How many commits behind the best can be read all the same, and the last of them.
    private(set) var lost: (count: Int, last: Revision) = (0, .zero)

    private let directory: DataDirectory
    /// The journals, oldest first.
    private var journals: [Journal] = []

    private struct Journal {
        var file: DataDirectory.Numbered
        var head: JournalHead
        /// True if the head cannot be read, and is what it is likely to have been.
        var isAssumed: Bool
    }

    /// Tries every snapshot that can be read, and the beginning of history. Throws what no repair may touch: files that
    /// cannot be opened, and those of a newer version.
    ///
    /// - Parameter epoch: the epoch of the first journals where none of them tells theirs.
    init(
        _ directory: DataDirectory, among names: [String], limits: History.Limits, epoch: Epoch
    ) throws(RecoveryError) {
        self.directory = directory
        try readHeads(among: names, epoch)
        for snapshot in directory.snapshots(among: names).reversed() {
            let state: State
            do throws(SnapshotError) {
                state = try SnapshotReader.read(snapshot, in: directory, limits: limits).state
            } catch {
                switch error {
                case .file(let error): throw RecoveryError(error)
                case .fromTheFuture(let format):
                    throw .fromTheFuture(directory.path(of: snapshot.name), format: format)
                case .damaged: unusable.append((snapshot.name, error.description))
                }
                continue
            }
            let first = journals.lastIndex { $0.file.revision <= snapshot.revision }
            try follow(state, from: snapshot.name, first ?? 0)
        }
        if let head = journals.first?.head, head.after == .zero {
            try follow(State(epoch: head.epoch, revision: head.revision, limits: limits), from: nil, 0)
        }
        let kept = best?.state.revision ?? .zero
        for journal in journals {
            try directory.forEachCommit(in: journal.file.name) { revision in
                if revision > kept { lost = (lost.count + 1, max(lost.last, revision)) }
            }
        }
    }

    private mutating func readHeads(among names: [String], _ epoch: Epoch) throws(RecoveryError) {
        let files = directory.journals(among: names)
        var heads: [JournalHead?] = []
        for file in files {
            do throws(RecoveryError) {
                heads.append(try JournalReader(directory: directory, name: file.name).head())
            } catch {
                guard error.kind == .damaged else { throw error }
                unusable.append((file.name, error.reason))
                heads.append(nil)
            }
        }
        for (index, file) in files.enumerated() {
            let head =
                heads[index] ?? likelyHead(of: file, before: heads[(index + 1)...].lazy.compactMap(\.self).first, epoch)
            journals.append(Journal(file: file, head: head, isAssumed: heads[index] == nil))
        }
    }

    /// What the head of a journal said, if it cannot be read. The name tells what the commits follow, and each commit
    /// names the one before, so that none is taken for another if this is wrong.
    private func likelyHead(
        of file: DataDirectory.Numbered, before next: JournalHead?, _ epoch: Epoch
    ) -> JournalHead {
        let previous = journals.last?.head
        var after = file.revision
        // A new epoch begins that far beyond the end of the old one.
        if let end = file.revision.advanced(by: -DataDirectory.leap), end >= previous?.revision ?? .zero { after = end }
        return JournalHead(
            epoch: next.flatMap { $0.beginsEpoch ? nil : $0.epoch } ?? epoch, revision: file.revision, after: after,
            durability: previous?.durability ?? .always)
    }

    /// Follows the journals from one of them on, as far as they lead.
    private mutating func follow(_ state: State, from origin: String?, _ first: Int) throws(RecoveryError) {
        var links: [JournalChain.Link] = []
        for journal in journals[min(first, journals.count)...] {
            var head = journal.head
            if journal.isAssumed, !head.beginsEpoch || head.revision <= state.revision {
                head.epoch = links.last?.head.epoch ?? state.epoch
            }
            links.append(JournalChain.Link(name: journal.file.name, head: head))
        }
        var chain = JournalChain(directory: directory, links: links)
        chain.keepsPrefix = true
        var recovered = Recovered(state)
        var reach = Reach(state: state, origin: origin)
        do throws(RecoveryError) {
            if !links.isEmpty { try chain.replay(onto: &recovered) }
        } catch {
            guard error.kind == .damaged else { throw error }
            reach.end = error
        }
        reach.state = recovered.state
        if best.map({ $0.state.revision < reach.state.revision }) ?? true { best = reach }
    }
}

extension DataDirectory {
    /// The highest revision that can be read anywhere: in the names of files, in journals however damaged, also in what
    /// was set aside.
    func highestRevision(among names: [String], from lowest: Revision) throws(RecoveryError) -> Revision {
        var highest = lowest
        let read = names + names.compactMap { Self.nameBeforeAside($0) }
        for file in journals(among: read) + snapshots(among: read) { highest = max(highest, file.revision) }
        for name in names where name.hasPrefix("journal-") || Self.isAside(name) {
            try forEachCommit(in: name) { highest = max(highest, $0) }
        }
        return highest
    }

    /// Calls the closure with the revision of every commit of a file that can be read by itself.
    func forEachCommit(in name: String, _ body: (Revision) -> Void) throws(RecoveryError) {
        do throws(FileError) {
            var lines = LineReader(try OpenFile(path(of: name), .reading, in: fileSystem))
            while let line = try lines.next() {
                let bytes = lines.buffer.span.extracting(line.range)
                guard let length = JournalLine.length(of: bytes, isTerminated: line.isTerminated),
                    let json = try? JSONValue(kept: bytes.extracting(0..<length)),
                    let revision = json["commit"]?["revision"]?.integer.flatMap({ Revision($0) })
                else { continue }
                body(revision)
            }
        } catch {
            throw RecoveryError(error)
        }
    }
}
