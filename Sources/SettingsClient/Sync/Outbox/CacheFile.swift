internal import Glibc
internal import SettingsAPI
internal import SettingsModel

/// The file that holds what was known last of a suite: one line with a check.
///
///     {"crc":"…","cache":1,"server":"http://127.0.0.1:7070","suite":"com.my.app","state":{…}}
///
/// It may be lost at any time: then there is none. So nothing is synced, and what cannot be read is as good as nothing.
struct CacheFile: Sendable {
    private let directory: String
    private let owner: KeptOwner
    private let files: any StateFileSystem

    private static let version: Int64 = 1

    init(in directory: String, of owner: KeptOwner, files: any StateFileSystem = MachineFiles()) {
        self.directory = directory
        self.owner = owner
        self.files = files
    }

    var path: String { "\(directory)/state.json" }
    private var draft: String { "\(path).new" }

    /// The state that was saved last; nil if there is none, or none that can be used.
    func read() -> ObservedState? {
        guard let held = try? HeldFile(path, .existing, in: files), let bytes = try? held.read(),
            bytes.last == UInt8(ascii: "\n"), let json = CheckedLine.object(in: bytes.dropLast()),
            json["cache"]?.integer == Self.version, json["server"]?.string == owner.server,
            json["suite"]?.string == owner.suite.text, let state = json["state"]
        else { return nil }
        return try? ObservedState(json: state)
    }

    /// Puts a state in the place of the one before, in one step. False if another program is doing that just then.
    func save(_ state: ObservedState) throws(StateFileError) -> Bool {
        try files.makeDirectories(directory)
        guard let held = try openDraft() else { return false }
        do throws(StateFileError) {
            try held.write(bytes(of: state), at: 0)
            try files.rename(draft, to: path)
        } catch {
            try? files.remove(draft)
            throw error
        }
        return true
    }

    /// The file that is written before it gets its name; nil if somebody else has it.
    private func openDraft() throws(StateFileError) -> HeldFile? {
        for _ in 0..<2 {
            do throws(StateFileError) {
                let held = try HeldFile(draft, .new, in: files)
                return try held.lock() ? held : nil
            } catch {
                guard error.code == EEXIST else { throw error }
            }
            // If nobody has it, somebody went before it was finished.
            guard let left = try? HeldFile(draft, .existing, in: files), try left.lock() else { return nil }
            try? files.remove(draft)
        }
        return nil
    }

    private func bytes(of state: ObservedState) -> [UInt8] {
        var writer = JSONWriter(reservingCapacity: 1024)
        writer.beginObject()
        writer.name("cache")
        writer.write(integer: Self.version)
        writer.name("server")
        writer.write(string: owner.server)
        writer.name("suite")
        writer.write(string: owner.suite.text)
        writer.name("state")
        state.write(to: &writer)
        writer.endObject()
        return CheckedLine.line(of: writer.bytes)
    }
}
