internal import Glibc

/// The file operations of the program. Tests use implementations that inject errors or simulate a power loss.
///
/// Reads and writes have an explicit offset, because a descriptor has no current position in this protocol. If a
/// function has a descriptor and a path as parameters, the path is only for error messages. Thread-safe.
package protocol FileSystem: Sendable {
    /// Creates a directory that only its owner can access, with its missing parent directories, and makes their names
    /// durable. Does nothing if the directory exists.
    func makeDirectory(_ path: String) throws(FileError)
    /// Opens a regular file. Throws for a device, a symbolic link or a FIFO, and never waits for a FIFO. With
    /// ``FileAccess/directory``, opens a directory or a symbolic link to a directory instead.
    ///
    /// The calling code must close the descriptor; ``OpenFile`` closes its descriptor automatically.
    func open(_ path: String, _ access: FileAccess) throws(FileError) -> Int32
    /// Releases the lock of the descriptor from ``lock(_:_:)``, if there is a lock, and closes the descriptor.
    func close(_ descriptor: Int32)
    /// Reads bytes into the buffer, possibly fewer than fit. Returns the number of bytes; 0 at the end of the file.
    func read(
        _ descriptor: Int32, _ path: String, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int
    /// Writes bytes, possibly only the first part of them. Returns the number of bytes that were written.
    func write(_ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int) throws(FileError) -> Int
    /// Writes zeros to a range of the file. A later write to the range then allocates no blocks on the disk, so the
    /// sync after the write is cheap.
    func preallocate(_ descriptor: Int32, _ path: String, _ range: Range<Int>) throws(FileError)
    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(FileError)
    /// Makes the content durable. If the function throws, the content on the disk is unknown.
    func syncData(_ descriptor: Int32, _ path: String) throws(FileError)
    /// Makes the content and the metadata durable.
    func sync(_ descriptor: Int32, _ path: String) throws(FileError)
    /// Writes a range of cached pages to the disk and waits for the disk, so that a later sync is shorter. Does not
    /// make the range durable: neither writes the metadata of the file nor flushes the cache of the disk.
    func writeBack(_ descriptor: Int32, _ path: String, from offset: Int, count: Int) throws(FileError)
    /// Makes the names in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)
    /// Renames a file, and replaces an existing file that has the new name.
    func rename(_ path: String, to new: String) throws(FileError)
    func remove(_ path: String) throws(FileError)
    /// Returns the names of the entries of a directory, in arbitrary order.
    func list(_ path: String) throws(FileError) -> [String]
    func status(_ path: String) throws(FileError) -> FileStatus
    func status(of descriptor: Int32, _ path: String) throws(FileError) -> FileStatus
    func identity(of path: String) throws(FileError) -> FileIdentity
    func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity
    /// Sets the owner, the group and the permissions of a file to the values in a status.
    func setAccess(_ descriptor: Int32, _ path: String, like status: FileStatus) throws(FileError)
    /// Locks a file until the descriptor is closed. Returns false if another descriptor of any process has the lock.
    func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool
}

package enum FileAccess: Sendable {
    /// Read an existing file.
    case reading
    /// Read and write an existing file.
    case writing
    /// Read and write a file; create the file if it does not exist.
    case creating
    /// Create a file, and read and write it; throw if the file exists.
    case new
    /// Read and write a file; create the file if it does not exist, or remove the content of an existing file.
    case replacing
    /// Read a file and append to it; create the file if it does not exist. Writes ignore their offset.
    case appending
    /// Open a directory, in order to lock it.
    case directory
}

/// The metadata of a file.
package struct FileStatus: Equatable, Sendable {
    package var size: Int
    /// The permission bits.
    package var mode: UInt32
    /// The user ID of the owner.
    package var owner: UInt32
    /// The group ID.
    package var group: UInt32

    package init(size: Int, mode: UInt32 = 0o600, owner: UInt32 = 0, group: UInt32 = 0) {
        self.size = size
        self.mode = mode
        self.owner = owner
        self.group = group
    }

    /// True if the group or other users have any permission.
    package var isOpenToGroupOrOthers: Bool { mode & 0o077 != 0 }
}

/// Identifies a file independently of its name. A renamed file keeps its identity. Hard links have the same identity.
package struct FileIdentity: Hashable, Sendable {
    /// The device number of the file system. It may change when the machine restarts.
    package var device: UInt64
    /// The inode number of the file in its file system.
    package var inode: UInt64
    /// The time at which the file was created, in nanoseconds since 1970; nil if the file system does not record it. A
    /// copy of a file has another creation time, even if it later gets the same inode number.
    package var creationTime: Int64?

    package init(device: UInt64, inode: UInt64, creationTime: Int64? = nil) {
        self.device = device
        self.inode = inode
        self.creationTime = creationTime
    }

    /// Returns true if both identities belong to the same file. The file must exist from the first read of an identity
    /// to the second, for example because a descriptor stays open: a new file can get the inode number of a removed
    /// file.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// An error of an operation of a ``FileSystem``.
package struct FileError: Error, Equatable, CustomStringConvertible {
    /// The failed operation. The raw value is the text for error messages, in most cases the name of the system call.
    package enum Call: String, Sendable {
        case makeDirectory = "mkdir"
        case open = "open"
        case read = "read"
        case write = "write"
        case preallocate = "write of zeros"
        case truncate = "ftruncate"
        case sync = "fsync"
        case syncData = "fdatasync"
        case writeBack = "sync_file_range"
        case syncDirectory = "fsync of the directory"
        case rename = "rename"
        case link = "link"
        case remove = "unlink"
        case list = "readdir"
        case status = "stat"
        /// The check in `open` that the file is a regular file.
        case kind = "fstat"
        case lock = "flock"
        case setOwner = "fchown"
        case setMode = "fchmod"
        /// The switch of the process to the owner of a directory, or to the groups of this user, in
        /// ``ProcessUser/switchToOwner(of:)``.
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

    /// True if the disk is full or the disk quota of the user is exhausted.
    package var isFull: Bool { code == ENOSPC || code == EDQUOT }

    /// True if the file system is full or read-only, so the process can still read files but not write files.
    package var refusesWriting: Bool { isFull || code == EROFS }

    /// True if the file or one of its parent directories does not exist.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// True if the file does not exist, or if the user has no permission to access it.
    package var isMissingOrForbidden: Bool { isMissing || code == EACCES }

    package var description: String {
        "\(path): \(reason)\(call == .kind ? "" : " (\(call.rawValue), error \(code))")"
    }

    /// The description of the error by the C library. It does not contain the path, because responses to clients
    /// contain the description, and clients do not need to know the paths of the daemon's files.
    package var reason: String {
        call == .kind ? "not a regular file" : SystemError.text(code)
    }
}
