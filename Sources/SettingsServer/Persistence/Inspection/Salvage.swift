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
    /// Files that cannot be read, with why.
    private(set) var unusable: [(name: String, reason: String)] = []

    private let directory: DataDirectory
    /// The journals, oldest first, with their heads where they have any.
    private var journals: [(file: DataDirectory.Numbered, head: JournalHead?)] = []

    /// Tries every snapshot that can be read, and the beginning of history. Throws what no repair may touch: files that
    /// cannot be opened, and those of a newer version.
    init(_ directory: DataDirectory, among names: [String], limits: History.Limits) throws(RecoveryError) {
        self.directory = directory
        try readHeads(among: names)
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
    }

    private mutating func readHeads(among names: [String]) throws(RecoveryError) {
        for file in directory.journals(among: names) {
            do throws(RecoveryError) {
                journals.append((file, try JournalReader(directory: directory, name: file.name).head()))
            } catch {
                guard error.kind == .damaged else { throw error }
                unusable.append((file.name, error.reason))
                journals.append((file, nil))
            }
        }
    }

    /// Follows the journals from one of them on, up to the first that cannot be read.
    private mutating func follow(_ state: State, from origin: String?, _ first: Int) throws(RecoveryError) {
        let rest = journals[min(first, journals.count)...]
        let links = rest.prefix { $0.head != nil }
            .compactMap { journal in journal.head.map { JournalChain.Link(name: journal.file.name, head: $0) } }
        var chain = JournalChain(directory: directory, links: links)
        chain.keepsPrefix = true
        chain.bound = rest.first { $0.head == nil }?.file.revision
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
            do throws(FileError) {
                var lines = LineReader(try OpenFile(path(of: name), .reading, in: fileSystem))
                while let line = try lines.next() {
                    let bytes = lines.buffer.span.extracting(line.range)
                    guard let length = JournalLine.length(of: bytes, isTerminated: line.isTerminated),
                        let json = try? JSONValue(kept: bytes.extracting(0..<length))
                    else { continue }
                    let number = json["commit"]?["revision"]?.integer ?? json["revision"]?.integer
                    highest = max(highest, number.flatMap { Revision($0) } ?? highest)
                }
            } catch {
                throw RecoveryError(error)
            }
        }
        return highest
    }
}
