internal import CLinux
internal import Glibc

/// The file system of the machine.
package struct POSIXFileSystem: FileSystem {
    private let pace: ReadPace?

    /// - Parameter pace: the pace at which files are read; nil for as fast as they can be.
    package init(pace: ReadPace? = nil) {
        self.pace = pace
    }

    package func makeDirectory(_ path: String) throws(FileError) {
        let parent = path.parentDirectory ?? "."
        if mkdir(path, 0o700) != 0 {
            let code = errno
            if code == EEXIST { return }
            guard code == ENOENT, parent != path, parent != "." else {
                throw FileError(.makeDirectory, path, code: code)
            }
            try makeDirectory(parent)
            // Another thread or process may make the same directory.
            if mkdir(path, 0o700) != 0, errno != EEXIST { throw FileError(.makeDirectory, path, code: errno) }
        }
        try syncDirectory(parent)
    }

    package func open(_ path: String, _ access: FileAccess) throws(FileError) -> Int32 {
        let flags: Int32 =
            switch access {
            case .reading: O_RDONLY
            case .writing: O_RDWR
            case .creating: O_RDWR | O_CREAT
            case .new: O_RDWR | O_CREAT | O_EXCL
            case .replacing: O_RDWR | O_CREAT | O_TRUNC
            case .appending: O_RDWR | O_CREAT | O_APPEND
            // A data directory may be named by a symbolic link.
            case .directory: O_RDONLY | O_DIRECTORY
            }
        guard access != .directory else { return try check(Glibc.open(path, flags | O_CLOEXEC), .open, path) }
        // A FIFO would be waited for until another process opens its other end.
        let descriptor = try check(
            Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600), .open, path)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileError(.kind, path, code: EINVAL)
        }
        return descriptor
    }

    package func close(_ descriptor: Int32) {
        // A child process has a copy of the descriptor until it calls exec, and with it the lock, if there is one.
        _ = flock(descriptor, LOCK_UN)
        _ = Glibc.close(descriptor)
    }

    package func read(
        _ descriptor: Int32, _ path: String, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        let count =
            pace?.read(descriptor, at: offset, into: buffer)
            ?? pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        return try check(count, .read, path)
    }

    package func write(
        _ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int
    ) throws(FileError) -> Int {
        let count = bytes.withUnsafeBytes { bytes in
            repeating { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
        }
        return try check(count, .write, path)
    }

    package func makeRoom(_ descriptor: Int32, _ path: String, _ place: Range<Int>) throws(FileError) {
        // Room that is only reserved would do without writing twice, but turning each reserved block into a written one
        // takes a sync longer than anything else.
        let zeros = [UInt8](repeating: 0, count: place.count)
        var done = 0
        while done < zeros.count {
            let rest = zeros.span.extracting(done..<zeros.count)
            let count = try write(descriptor, path, rest, at: place.lowerBound + done)
            guard count > 0 else { throw FileError(.makeRoom, path, code: ENOSPC) }
            done += count
        }
    }

    package func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(FileError) {
        try check(ftruncate(descriptor, off_t(size)), .truncate, path)
    }

    package func syncData(_ descriptor: Int32, _ path: String) throws(FileError) {
        try check(fdatasync(descriptor), .syncData, path)
    }

    package func sync(_ descriptor: Int32, _ path: String) throws(FileError) {
        try check(fsync(descriptor), .sync, path)
    }

    package func startWriting(
        _ descriptor: Int32, _ path: String, from offset: Int, count: Int
    ) throws(FileError) {
        let flags =
            UInt32(SYNC_FILE_RANGE_WAIT_BEFORE) | UInt32(SYNC_FILE_RANGE_WRITE) | UInt32(SYNC_FILE_RANGE_WAIT_AFTER)
        try check(sync_file_range(descriptor, off_t(offset), off_t(count), flags), .startWriting, path)
    }

    package func syncDirectory(_ path: String) throws(FileError) {
        let descriptor = try check(
            Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .syncDirectory, path)
        defer { close(descriptor) }
        try check(fsync(descriptor), .syncDirectory, path)
    }

    package func rename(_ path: String, to new: String) throws(FileError) {
        try check(Glibc.rename(path, new), .rename, path)
    }

    package func remove(_ path: String) throws(FileError) {
        try check(unlink(path), .remove, path)
    }

    package func list(_ path: String) throws(FileError) -> [String] {
        guard let stream = opendir(path) else { throw FileError(.list, path, code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw FileError(.list, path, code: errno) }
                return names
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    package func status(_ path: String) throws(FileError) -> FileStatus {
        var status = stat()
        try check(stat(path, &status), .status, path)
        return FileStatus(status)
    }

    package func status(of descriptor: Int32, _ path: String) throws(FileError) -> FileStatus {
        var status = stat()
        try check(fstat(descriptor, &status), .status, path)
        return FileStatus(status)
    }

    package func identity(of path: String) throws(FileError) -> FileIdentity {
        try identity(AT_FDCWD, path, 0, called: path)
    }

    package func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity {
        try identity(descriptor, "", AT_EMPTY_PATH, called: path)
    }

    private func identity(
        _ descriptor: Int32, _ name: String, _ flags: Int32, called path: String
    ) throws(FileError) -> FileIdentity {
        var status = statx()
        let wanted = UInt32(STATX_BASIC_STATS) | UInt32(STATX_BTIME)
        try check(statx(descriptor, name, flags, wanted, &status), .status, path)
        let isDated = status.stx_mask & UInt32(STATX_BTIME) != 0
        return FileIdentity(
            device: UInt64(status.stx_dev_major) << 32 | UInt64(status.stx_dev_minor), inode: status.stx_ino,
            made: isDated ? status.stx_btime.tv_sec &* 1_000_000_000 &+ Int64(status.stx_btime.tv_nsec) : nil)
    }

    package func setAccess(_ descriptor: Int32, _ path: String, like status: FileStatus) throws(FileError) {
        try check(fchown(descriptor, status.owner, status.group), .setOwner, path)
        try check(fchmod(descriptor, status.mode), .setMode, path)
    }

    package func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool {
        let result = repeating { Int(flock(descriptor, LOCK_EX | LOCK_NB)) }
        if result < 0 && errno == EWOULDBLOCK { return false }
        try check(result, .lock, path)
        return true
    }

    /// Calls again for as long as a signal comes between.
    private func repeating(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    @discardableResult
    private func check<Result: SignedInteger>(
        _ result: Result, _ call: FileError.Call, _ path: String
    ) throws(FileError) -> Result {
        guard result >= 0 else { throw FileError(call, path, code: errno) }
        return result
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        self.init(
            size: Int(status.st_size), mode: status.st_mode & 0o777, owner: status.st_uid, group: status.st_gid)
    }
}

extension String {
    /// The directory that a path lies in; nil for a name without one.
    package var parentDirectory: String? {
        let path = self.utf8.last == UInt8(ascii: "/") && utf8.count > 1 ? String(dropLast()) : self
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
