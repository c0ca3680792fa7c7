internal import Glibc

/// What the client asks of the file system for the files that it keeps, so that tests can make each call fail.
protocol StateFileSystem: Sendable {
    /// Makes a directory that only its owner may use; false where there is one.
    func makeDirectory(_ path: String) throws(StateFileError) -> Bool
    /// The names in a directory, in no order; none where there is no directory.
    func list(_ path: String) throws(StateFileError) -> [String]
    /// Opens a file. Whoever opens it closes it; ``HeldFile`` does so by itself.
    func open(_ path: String, _ access: StateFileAccess) throws(StateFileError) -> Int32
    func close(_ descriptor: Int32)
    /// Takes the lock of a file until it is closed; false if somebody else has it, in this process or in another.
    func lock(_ descriptor: Int32, _ path: String) throws(StateFileError) -> Bool
    /// Whether the file still has a name.
    func hasName(_ descriptor: Int32, _ path: String) throws(StateFileError) -> Bool
    /// All that is in the file.
    func read(_ descriptor: Int32, _ path: String) throws(StateFileError) -> [UInt8]
    /// Writes some bytes, perhaps fewer than given, and says how many.
    func write(_ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int) throws(StateFileError) -> Int
    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(StateFileError)
    /// Makes the content last. After it failed nobody knows what of the content did.
    func syncData(_ descriptor: Int32, _ path: String) throws(StateFileError)
    /// Makes the names in a directory last.
    func syncDirectory(_ path: String) throws(StateFileError)
    /// Gives a file another name, in place of the file that may have had it.
    func rename(_ path: String, to new: String) throws(StateFileError)
    func remove(_ path: String) throws(StateFileError)
}

extension StateFileSystem {
    /// Makes a directory that only its owner may use, and those above it, so that their names last.
    func makeDirectories(_ path: String) throws(StateFileError) {
        let parent = Self.parent(of: path)
        let isMade: Bool
        do throws(StateFileError) {
            isMade = try makeDirectory(path)
        } catch {
            guard error.code == ENOENT, let parent else { throw error }
            try makeDirectories(parent)
            isMade = try makeDirectory(path)
        }
        if isMade, let parent { try syncDirectory(parent) }
    }

    /// The directory that a path lies in; nil for one that is in none.
    private static func parent(of path: String) -> String? {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return slash > path.startIndex ? String(path[..<slash]) : "/"
    }
}

/// What a file is opened for.
enum StateFileAccess: Sendable {
    /// To be read and written; it is there.
    case existing
    /// To be read and written; it is not there.
    case new
    /// To be written anew; what it held is gone.
    case replacing
}
