internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A file that holds what was known last of a suite: one line with a check.
///
///     {"crc":"…","cache":1,"server":"http://127.0.0.1:7070","suite":"com.my.app","state":{…}}
///
/// It may be lost at any time, so nothing is synced, and a damaged file counts as none.
struct CacheFile: Sendable {
    let path: String
    private let directory: String
    private let owner: FileOwner
    private let files: any FileSystem

    private static let version: Int64 = 1

    init(in directory: String, of owner: FileOwner, files: any FileSystem = POSIXFileSystem()) {
        path = "\(directory)/state.json"
        self.directory = directory
        self.owner = owner
        self.files = files
    }

    /// Returns the state that was saved last; nil if there is none that can be used.
    func read() -> ObservedState? {
        guard let bytes = try? OpenFile(path, .reading, in: files).readAll(), bytes.last == UInt8(ascii: "\n"),
            let json = CheckedLine.object(in: bytes.dropLast()), json["cache"]?.integer == Self.version,
            FileOwner(members: json) == owner, let state = json["state"]
        else { return nil }
        return try? ObservedState(json: state)
    }

    /// Replaces the saved state in one step. False if another program is doing that at this moment.
    func save(_ state: ObservedState) throws(FileError) -> Bool {
        try files.makeDirectory(directory)
        let name = "\(path).new"
        let draft = try OpenFile(name, .creating, in: files, reportedAs: path)
        guard try draft.lock(), try draft.isLocated(at: name) else { return false }
        do throws(FileError) {
            // A program that ended in the middle has left its draft.
            try draft.truncate(to: 0)
            try draft.write(bytes(of: state).span, at: 0)
            try files.rename(name, to: path)
        } catch {
            try? files.remove(name)
            throw error
        }
        return true
    }

    private func bytes(of state: ObservedState) -> [UInt8] {
        var writer = JSONWriter(reservingCapacity: 1024)
        writer.beginObject()
        writer.name("cache")
        writer.write(integer: Self.version)
        owner.writeMembers(to: &writer)
        writer.name("state")
        state.write(to: &writer)
        writer.endObject()
        return CheckedLine.line(of: writer.bytes)
    }
}
