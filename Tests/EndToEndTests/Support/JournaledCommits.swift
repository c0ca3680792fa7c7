import Foundation
import SettingsAPI
import SettingsModel
import TestSupport

/// All commits of a data directory, read from the journals after each exit of the daemon.
///
/// The commits do not come from answers, because some answers are lost. The journals are parsed without the recovery
/// code, so that a defect of the recovery code does not hide itself.
struct JournaledCommits: Sendable {
    var epoch: Epoch
    /// All commits in order, with the previous values that journal lines omit.
    var commits: [Commit] = []
    /// All commits as the journal lines have them.
    private var lines: [Commit] = []
    /// The last change of each key.
    private var lastChanges: [SuiteName: [KeyName: Change]] = [:]

    /// A journal that does not continue the previous journal, or an invalid line.
    struct InvalidJournal: Error, CustomStringConvertible {
        let description: String
    }

    init(epoch: Epoch, _ commits: [Commit]) {
        self.epoch = epoch
        self.commits = commits
        lines = commits
    }

    /// Reads the journals in a directory that no daemon uses.
    init(directory: String) throws {
        guard let first = try Self.journals(in: directory).first else {
            throw InvalidJournal(description: "there is no journal")
        }
        self.init(epoch: first.epoch, [])
        try read(directory: directory)
    }

    /// Reads the new commits in the journals of a directory that no daemon uses. The next start removes old journals,
    /// so this method must run after each exit.
    mutating func read(directory: String) throws {
        for journal in try Self.journals(in: directory) {
            guard journal.epoch == epoch else {
                throw InvalidJournal(description: "\(journal.name) begins epoch \(journal.epoch) after \(epoch)")
            }
            for entry in journal.entries {
                let commit = try Commit(json: entry.commit)
                if commit.revision <= lastRevision {
                    let index = position(after: commit.revision) - 1
                    guard index >= 0, lines[index] == commit else {
                        throw InvalidJournal(
                            description: "\(journal.name): commit \(commit.revision) differs in an earlier journal")
                    }
                    continue
                }
                guard entry.after == lastRevision else {
                    throw InvalidJournal(
                        description:
                            "\(journal.name): \(commit.revision) follows \(entry.after) instead of \(lastRevision)")
                }
                try append(commit)
            }
        }
    }

    private mutating func append(_ line: Commit) throws {
        var commit = line
        for index in commit.changes.indices {
            let (suite, key) = (commit.changes[index].suite, commit.changes[index].key)
            if commit.changes[index].lacksOldValue {
                guard let before = lastChanges[suite]?[key], before.source == .stored else {
                    throw InvalidJournal(
                        description: "\(commit.revision) replaces \(suite)/\(key), which has no stored value")
                }
                commit.changes[index].old = before.new
                commit.changes[index].record.oldRevision = before.revision
                commit.changes[index].record.oldModified = before.modified
            }
            lastChanges[suite, default: [:]][key] = commit.changes[index]
        }
        lines.append(line)
        commits.append(commit)
    }

    var lastRevision: Revision { commits.last?.revision ?? .zero }

    /// The number of commits after a revision, up to and including another revision.
    func count(after revision: Revision, upTo end: Revision) -> Int {
        max(0, position(after: end) - position(after: revision))
    }

    /// The commit of a revision; nil if no commit has the revision.
    subscript(_ revision: Revision) -> Commit? {
        let position = position(after: revision) - 1
        return position >= 0 && commits[position].revision == revision ? commits[position] : nil
    }

    /// The index of the first commit after a revision.
    private func position(after revision: Revision) -> Int {
        var (low, high) = (0, commits.count)
        while low < high {
            let middle = (low + high) / 2
            if commits[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The log in etcd.
extension JournaledCommits {
    /// Reads the log in etcd. Throws if a snapshot has replaced the first commits of the log, because the later commits
    /// then do not follow revision 0.
    init(log etcd: EtcdCluster) throws {
        var found: JournaledCommits?
        // The first key of the next read. `log0` ends the range of keys, because `0` is the character after `/`.
        var start = "settingsd/log/"
        while let (key, value) = try etcd.values(from: start, to: "settingsd/log0").first {
            start = key + "\0"
            var lines = value.split(separator: UInt8(ascii: "\n"))
            let head = try Self.read(lines.removeFirst())
            guard let epoch = head["epoch"]?.string.flatMap({ Epoch($0) }), let id = head["id"]?.string else {
                throw InvalidJournal(description: "\(key) has no head")
            }
            var commits = found ?? JournaledCommits(epoch: epoch, [])
            guard commits.epoch == epoch else { throw InvalidJournal(description: "\(key) begins epoch \(epoch)") }
            // A batch that is too large for one key continues in the keys below `parts`.
            let parts = "settingsd/parts/\(key.split(separator: "/").last ?? "")/\(id)"
            let text = try etcd.values(from: parts + "/", to: parts + "0").flatMap(\.value)
            for line in lines + text.split(separator: UInt8(ascii: "\n")) {
                let json = try Self.read(line)
                guard let commit = json["commit"],
                    try json["after"].map({ try Revision(json: $0) }) == commits.lastRevision
                else { throw InvalidJournal(description: "\(key) does not follow \(commits.lastRevision)") }
                try commits.append(try Commit(json: commit))
            }
            found = commits
        }
        guard let found else { throw InvalidJournal(description: "there is no log") }
        self = found
    }
}

/// Reading the journal files.
extension JournaledCommits {
    private struct Journal {
        let name: String
        let epoch: Epoch
        var entries: [Entry] = []
    }

    private struct Entry {
        /// The commit before this commit.
        let after: Revision
        let commit: JSONValue
    }

    /// The journals with all their commits, oldest first.
    private static func journals(in directory: String) throws -> [Journal] {
        try names(in: directory).compactMap { name -> Journal? in
            let lines = try lines(of: name, in: directory)
            guard let first = lines.first else { return nil }
            let head = try read(first)
            guard let epoch = head["epoch"]?.string.flatMap({ Epoch($0) }) else {
                throw InvalidJournal(description: "\(name) has no head")
            }
            var journal = Journal(name: name, epoch: epoch)
            for line in lines.dropFirst() {
                // A line torn by a kill was never acknowledged.
                guard let json = try? read(line) else { break }
                // The line of a clean stop contains no commit.
                guard let commit = json["commit"], let after = json["after"] else { continue }
                journal.entries.append(Entry(after: try Revision(json: after), commit: commit))
            }
            return journal
        }
    }

    /// The names of the journals, oldest first. The names contain increasing numbers without leading zeros.
    private static func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory)
            .filter { $0.hasPrefix("journal-") && $0.hasSuffix(".jsonl") }
            .sorted { $0.utf8.count != $1.utf8.count ? $0.utf8.count < $1.utf8.count : $0 < $1 }
    }

    /// The lines of a journal, without the zeros that reserve space at the end.
    private static func lines(of name: String, in directory: String) throws -> [ArraySlice<UInt8>] {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
        return bytes[..<(bytes.firstIndex(of: 0) ?? bytes.count)].split(separator: UInt8(ascii: "\n"))
    }

    /// Parses a line. Its values may have the maximum depth, so the line may be deeper.
    private static func read(_ line: ArraySlice<UInt8>) throws -> JSONValue {
        try JSONValue(parsing: Array(line), maximumDepth: JSONValue.maximumDepthAroundValues)
    }
}
