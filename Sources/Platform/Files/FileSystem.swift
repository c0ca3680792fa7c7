/// What persistence asks of the file system, so that tests can make each call fail and take away the power.
///
/// Files are read and written at places that the caller names; nothing here keeps a position. Called from any thread.
package protocol FileSystem: Sendable {
    /// Makes a directory that only its owner may use, and those above it; does nothing where there is one.
    func makeDirectory(_ path: String) throws(FileError)
    /// Opens a regular file. Throws at once if it is a FIFO or a device. The caller owns the descriptor; ``OpenFile``
    /// closes it by itself.
    func open(_ path: String, _ access: FileAccess) throws(FileError) -> Int32
    func close(_ descriptor: Int32)
    /// Reads what there is, at most as much as fits; 0 at the end.
    func read(
        _ descriptor: Int32, _ path: String, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int
    /// Writes some bytes, perhaps fewer than given, and says how many.
    func write(_ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int) throws(FileError) -> Int
    /// Makes room in a file by writing zeros, so that what is written there later changes no more than the content.
    func makeRoom(_ descriptor: Int32, _ path: String, _ place: Range<Int>) throws(FileError)
    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(FileError)
    /// Makes the content last. After it failed nobody knows what of the content did.
    func syncData(_ descriptor: Int32, _ path: String) throws(FileError)
    /// Makes the content and everything about the file last.
    func sync(_ descriptor: Int32, _ path: String) throws(FileError)
    /// Has a part of the file written to the disk, so that a later sync finds little to do. Promises nothing.
    func startWriting(_ descriptor: Int32, _ path: String, from offset: Int, count: Int, waits: Bool) throws(FileError)
    /// Makes the names in a directory last.
    func syncDirectory(_ path: String) throws(FileError)
    /// Gives a file another name, in place of the file that may have had it.
    func rename(_ path: String, to new: String) throws(FileError)
    func remove(_ path: String) throws(FileError)
    /// The names in a directory, in no order.
    func list(_ path: String) throws(FileError) -> [String]
    func status(_ path: String) throws(FileError) -> FileStatus
    /// Says which file a path leads to.
    func identity(of path: String) throws(FileError) -> FileIdentity
    /// Says which file is open.
    func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity
    /// Takes the lock of a file for this process until it is closed; false if another has it.
    func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool
}

/// What a file is opened for.
package enum FileAccess: Sendable {
    /// To be read.
    case reading
    /// To be read and written; it is there.
    case writing
    /// To be read and written; made if it is not there.
    case creating
    /// To be written anew; what it held is gone.
    case replacing
    /// A directory, to be locked.
    case directory
}

/// What is known of a file without opening it.
package struct FileStatus: Hashable, Sendable {
    package var size: Int
    package var isDirectory: Bool
    /// Whether anybody but the owner may read or write it.
    package var isOpenToOthers: Bool

    package init(size: Int, isDirectory: Bool, isOpenToOthers: Bool) {
        self.size = size
        self.isDirectory = isDirectory
        self.isOpenToOthers = isOpenToOthers
    }
}

/// An identity that a file keeps under every name.
package struct FileIdentity: Hashable, Sendable {
    /// The file system. Another start of the machine may give it another number.
    package var device: UInt64
    /// The file's number in its file system.
    package var inode: UInt64
    /// When it was made, in nanoseconds since 1970; nil where the file system does not keep it. A copy has another one.
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
