internal import Glibc

/// A file system that reads and writes at places that the caller names. Tests put one in its place that fails or loses power.
///
/// Nothing here keeps a position. Called from any thread.
package protocol FileSystem: Sendable {
    /// Makes a directory for its owner alone, and those above it, and syncs their names; does nothing where there is one.
    func makeDirectory(_ path: String) throws(FileError)
    /// Opens a regular file; throws at once for a FIFO, a device or a symbolic link. The caller closes the descriptor;
    /// ``OpenFile`` does so by itself.
    func open(_ path: String, _ access: FileAccess) throws(FileError) -> Int32
    /// Releases the lock, if there is one, and closes.
    func close(_ descriptor: Int32)
    /// Reads at most as much as fits; 0 at the end.
    func read(
        _ descriptor: Int32, _ path: String, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int
    /// Writes some bytes, perhaps fewer than given, and returns how many.
    func write(_ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int) throws(FileError) -> Int
    /// Allocates a range by writing zeros, so that a later write there changes only content and its sync is cheap.
    func makeRoom(_ descriptor: Int32, _ path: String, _ place: Range<Int>) throws(FileError)
    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(FileError)
    /// Makes the content durable. After a failure the content on disk is unknown.
    func syncData(_ descriptor: Int32, _ path: String) throws(FileError)
    /// Makes the content and the metadata durable.
    func sync(_ descriptor: Int32, _ path: String) throws(FileError)
    /// Writes a range to the disk and waits for that, so that a later sync has less to do. Promises nothing.
    func startWriting(_ descriptor: Int32, _ path: String, from offset: Int, count: Int) throws(FileError)
    /// Makes the names in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)
    /// Renames a file, in place of the one that may have had the new name.
    func rename(_ path: String, to new: String) throws(FileError)
    func remove(_ path: String) throws(FileError)
    /// Returns the names in a directory, in no order.
    func list(_ path: String) throws(FileError) -> [String]
    func status(_ path: String) throws(FileError) -> FileStatus
    func status(of descriptor: Int32, _ path: String) throws(FileError) -> FileStatus
    func identity(of path: String) throws(FileError) -> FileIdentity
    func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity
    /// Gives a file the owner, the group and the permissions of a status.
    func setAccess(_ descriptor: Int32, _ path: String, like status: FileStatus) throws(FileError)
    /// Locks a file until it is closed; false if another descriptor has it, in this process or another.
    func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool
}

/// A way to open a file.
package enum FileAccess: Sendable {
    /// Read an existing file.
    case reading
    /// Read and write an existing file.
    case writing
    /// Read and write; make the file if there is none.
    case creating
    /// Read and write a file that this call makes; throws if there is one.
    case new
    /// Read and write; make the file, or empty the one that is there.
    case replacing
    /// Read, and write at the end, wherever a write is said to go; make the file if there is none.
    case appending
    /// Lock a directory.
    case directory
}

/// The metadata of a file.
package struct FileStatus: Equatable, Sendable {
    package var size: Int
    /// The permission bits.
    package var mode: UInt32
    /// The user whose file it is.
    package var owner: UInt32
    package var group: UInt32

    package init(size: Int, mode: UInt32 = 0o600, owner: UInt32 = 0, group: UInt32 = 0) {
        self.size = size
        self.mode = mode
        self.owner = owner
        self.group = group
    }

    /// True if the group or other users have any permission.
    package var isOpenToOthers: Bool { mode & 0o077 != 0 }
}

/// An identity that a file keeps under every name.
package struct FileIdentity: Hashable, Sendable {
    /// The file system. It may get another number when the machine restarts.
    package var device: UInt64
    /// The file's number in its file system.
    package var inode: UInt64
    /// When the file was made, in nanoseconds since 1970; nil where the file system does not record it. A copy differs.
    package var made: Int64?

    package init(device: UInt64, inode: UInt64, made: Int64? = nil) {
        self.device = device
        self.inode = inode
        self.made = made
    }

    /// True if both are the same file at this moment.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// An error that a call of the file system returned.
package struct FileError: Error, Equatable, CustomStringConvertible {
    package enum Call: String, Sendable {
        case makeDirectory = "mkdir"
        case open = "open"
        case read = "read"
        case write = "write"
        case makeRoom = "write of zeros"
        case truncate = "ftruncate"
        case sync = "fsync"
        case syncData = "fdatasync"
        case startWriting = "sync_file_range"
        case syncDirectory = "fsync of the directory"
        case rename = "rename"
        case remove = "unlink"
        case list = "readdir"
        case status = "stat"
        case kind = "fstat"
        case lock = "flock"
        case setOwner = "fchown"
        case setMode = "fchmod"
        case setUser = "seteuid"
    }

    package let call: Call
    package let path: String
    /// The `errno` of the call.
    package let code: Int32

    package init(_ call: Call, _ path: String, code: Int32) {
        self.call = call
        self.path = path
        self.code = code
    }

    /// True if the disk is full or a quota is used up.
    package var isFull: Bool { code == ENOSPC || code == EDQUOT }

    /// True if the file system takes no writes, though it can be read: it is full or read-only.
    package var refusesWriting: Bool { isFull || code == EROFS }

    /// True if there is no such file.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// True if there is no such file, or it lies where this user may not look.
    package var isOutOfReach: Bool { isMissing || code == EACCES }

    package var description: String {
        "\(path): \(reason)\(call == .kind ? "" : " (\(call.rawValue), error \(code))")"
    }

    /// The system's words, without the path: callers of the daemon need not know where its files are.
    package var reason: String {
        call == .kind ? "not a regular file" : SystemError.text(code)
    }
}
