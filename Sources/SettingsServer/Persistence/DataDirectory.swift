package import Platform
internal import SettingsAPI
internal import SettingsModel

/// The directory that a daemon keeps its data in, with the names of what is there.
package struct DataDirectory: Sendable {
    /// The path.
    package let path: String
    let fileSystem: any FileSystem

    package init(_ path: String, in fileSystem: any FileSystem = POSIXFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    /// A file whose name tells the revision that it begins with.
    struct Numbered: Hashable, Sendable {
        let name: String
        let revision: Revision
    }

    var lockPath: String { path + "/LOCK" }

    func path(of name: String) -> String { path + "/" + name }

    static func journalName(after revision: Revision) -> String { "journal-\(revision).jsonl" }

    static func snapshotName(at revision: Revision) -> String { "snapshot-\(revision).json" }

    /// What a file is called while it is written.
    static func temporaryName(of name: String) -> String { name + temporarySuffix }

    /// What a file is called that is of no use any more but to people.
    static func asideName(of name: String) -> String { aside + name }

    static func isAside(_ name: String) -> Bool { name.hasPrefix(aside) }

    /// What a file that was set aside was called before; nil for any other.
    static func nameBeforeAside(_ name: String) -> String? {
        isAside(name) ? String(name.dropFirst(aside.count)) : nil
    }

    /// A name to set a file aside under that no other has.
    static func freeAsideName(of name: String, among names: [String]) -> String {
        let taken = Set(names.map { Array($0.utf8) })
        var candidate = asideName(of: name)
        var number = 1
        while taken.contains(Array(candidate.utf8)) {
            number += 1
            candidate = asideName(of: "\(number)-\(name)")
        }
        return candidate
    }

    private static let aside = "set-aside-"

    private static let temporarySuffix = ".tmp"

    /// The journals, oldest first.
    func journals(among names: [String]) -> [Numbered] {
        Self.numbered(names, "journal-", ".jsonl")
    }

    /// The snapshots, oldest first.
    func snapshots(among names: [String]) -> [Numbered] {
        Self.numbered(names, "snapshot-", ".json")
    }

    /// Files that were being written when somebody stopped.
    func temporaries(among names: [String]) -> [String] {
        names.filter { $0.hasSuffix(Self.temporarySuffix) }
    }

    private static func numbered(_ names: [String], _ prefix: String, _ suffix: String) -> [Numbered] {
        names.compactMap { name -> Numbered? in
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            return Revision(name.dropFirst(prefix.count).dropLast(suffix.count)).map {
                Numbered(name: name, revision: $0)
            }
        }
        .sorted { $0.revision < $1.revision }
    }
}
