internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A file with the last known state of a suite: one line with a checksum.
///
///     {"crc":"…","cache":1,"server":"http://127.0.0.1:7070","suite":"com.my.app","state":{…}}
///
/// The file is not synced, because the daemon has the same data. A damaged file is ignored.
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

    /// Returns the saved state. Returns nil if there is no readable file for this suite and server.
    func read() -> ObservedState? {
        guard let bytes = try? OpenFile(path, .reading, in: files).readAll(), bytes.last == UInt8(ascii: "\n"),
            let json = CheckedLine.object(in: bytes.dropLast()), json["cache"]?.integer == Self.version,
            FileOwner(members: json) == owner, let state = json["state"]
        else { return nil }
        return try? ObservedState(json: state)
    }

    /// Replaces the saved state atomically. Returns false if another program is saving its state at the same time.
    func save(_ state: ObservedState) throws(FileError) -> Bool {
        try files.makeDirectory(directory)
        let draftPath = "\(path).new"
        let draft = try OpenFile(draftPath, .creating, in: files, reportedAs: path)
        // The draft is no longer at its path if another program has just renamed it.
        guard try draft.lock(), try draft.isLocated(at: draftPath) else { return false }
        do throws(FileError) {
            // The draft may have contents, from a program that ended before it renamed the draft.
            try draft.truncate(to: 0)
            try draft.write(bytes(of: state).span, at: 0)
            try files.rename(draftPath, to: path)
        } catch {
            try? files.remove(draftPath)
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
