internal import CLinux
internal import Glibc

/// The implementation of ``FileSystem`` with system calls.
package struct POSIXFileSystem: FileSystem {
    private let pace: ReadPace?

    /// - Parameter pace: the speed limit for reads; nil for no limit. Other operations have no limit.
    package init(pace: ReadPace? = nil) {
        self.pace = pace
    }

    package func makeDirectory(_ path: String) throws(FileError) {
        let parent = path.parentDirectory ?? "."
        if mkdir(path.systemBytes, 0o700) != 0 {
            let code = errno
            if code == EEXIST { return }
            guard code == ENOENT, parent != path, parent != "." else {
                throw FileError(.makeDirectory, path, code: code)
            }
            try makeDirectory(parent)
            // Another thread or process may have created the directory in the meantime.
            if mkdir(path.systemBytes, 0o700) != 0, errno != EEXIST {
                throw FileError(.makeDirectory, path, code: errno)
            }
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
            case .directory: O_RDONLY | O_DIRECTORY
            }
        guard access != .directory else {
            // No O_NOFOLLOW, because the data directory may be a symbolic link.
            return try check(Glibc.open(path.systemBytes, flags | O_CLOEXEC), .open, path)
        }
        // O_NONBLOCK, because otherwise the call would wait until another process opens the other end of a FIFO.
        let descriptor = try check(
            Glibc.open(path.systemBytes, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600), .open, path)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileError(.kind, path, code: EINVAL)
        }
        return descriptor
    }

    package func close(_ descriptor: Int32) {
        // Unlock explicitly, because a forked child process shares the descriptor and the lock until it calls `exec`.
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
            retryingInterrupted { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
        }
        return try check(count, .write, path)
    }

    package func preallocate(_ descriptor: Int32, _ path: String, _ range: Range<Int>) throws(FileError) {
        // `fallocate` would avoid that the range is written twice. But it creates unwritten extents, and a later sync
        // would take most of its time to convert these extents to written extents.
        let zeros = [UInt8](repeating: 0, count: range.count)
        var writtenCount = 0
        while writtenCount < zeros.count {
            let remaining = zeros.span.extracting(writtenCount..<zeros.count)
            let count = try write(descriptor, path, remaining, at: range.lowerBound + writtenCount)
            guard count > 0 else { throw FileError(.preallocate, path, code: ENOSPC) }
            writtenCount += count
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

    package func writeBack(
        _ descriptor: Int32, _ path: String, from offset: Int, count: Int
    ) throws(FileError) {
        let flags =
            UInt32(SYNC_FILE_RANGE_WAIT_BEFORE) | UInt32(SYNC_FILE_RANGE_WRITE) | UInt32(SYNC_FILE_RANGE_WAIT_AFTER)
        try check(sync_file_range(descriptor, off_t(offset), off_t(count), flags), .writeBack, path)
    }

    package func syncDirectory(_ path: String) throws(FileError) {
        let descriptor = try check(
            Glibc.open(path.systemBytes, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .syncDirectory, path)
        defer { close(descriptor) }
        try check(fsync(descriptor), .syncDirectory, path)
    }

    package func rename(_ path: String, to new: String) throws(FileError) {
        try check(Glibc.rename(path.systemBytes, new.systemBytes), .rename, path)
    }

    package func remove(_ path: String) throws(FileError) {
        try check(unlink(path.systemBytes), .remove, path)
    }

    package func list(_ path: String) throws(FileError) -> [String] {
        guard let stream = opendir(path.systemBytes) else { throw FileError(.list, path, code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw FileError(.list, path, code: errno) }
                return names
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(escapingInvalidBytesOf: bytes.prefix { $0 != 0 })
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    package func status(_ path: String) throws(FileError) -> FileStatus {
        var status = stat()
        try check(stat(path.systemBytes, &status), .status, path)
        return FileStatus(status)
    }

    package func status(of descriptor: Int32, _ path: String) throws(FileError) -> FileStatus {
        var status = stat()
        try check(fstat(descriptor, &status), .status, path)
        return FileStatus(status)
    }

    package func identity(of path: String) throws(FileError) -> FileIdentity {
        try identity(AT_FDCWD, path, 0, reportedAs: path)
    }

    package func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity {
        try identity(descriptor, "", AT_EMPTY_PATH, reportedAs: path)
    }

    private func identity(
        _ descriptor: Int32, _ name: String, _ flags: Int32, reportedAs path: String
    ) throws(FileError) -> FileIdentity {
        var status = statx()
        let requested = UInt32(STATX_BASIC_STATS) | UInt32(STATX_BTIME)
        try check(statx(descriptor, name.systemBytes, flags, requested, &status), .status, path)
        let (seconds, nanoseconds) = (status.stx_btime.tv_sec, Int64(status.stx_btime.tv_nsec))
        let hasCreationTime = status.stx_mask & UInt32(STATX_BTIME) != 0
        return FileIdentity(
            device: UInt64(status.stx_dev_major) << 32 | UInt64(status.stx_dev_minor), inode: status.stx_ino,
            creationTime: hasCreationTime ? seconds &* 1_000_000_000 &+ nanoseconds : nil)
    }

    package func setAccess(_ descriptor: Int32, _ path: String, like status: FileStatus) throws(FileError) {
        try check(fchown(descriptor, status.owner, status.group), .setOwner, path)
        try check(fchmod(descriptor, status.mode), .setMode, path)
    }

    package func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool {
        let result = retryingInterrupted { Int(flock(descriptor, LOCK_EX | LOCK_NB)) }
        if result < 0 && errno == EWOULDBLOCK { return false }
        try check(result, .lock, path)
        return true
    }

    /// Repeats a system call while signals interrupt it.
    private func retryingInterrupted(_ call: () -> Int) -> Int {
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
    /// The path of the parent directory; nil if the path is a name without a slash.
    package var parentDirectory: String? {
        let path = self.utf8.last == UInt8(ascii: "/") && utf8.count > 1 ? String(dropLast()) : self
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
