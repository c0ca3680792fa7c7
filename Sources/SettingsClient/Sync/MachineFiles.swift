internal import Glibc

/// The file system of the machine.
struct MachineFiles: StateFileSystem {
    func makeDirectory(_ path: String) throws(StateFileError) -> Bool {
        if mkdir(path, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw StateFileError(path, code: errno) }
        return false
    }

    func list(_ path: String) throws(StateFileError) -> [String] {
        guard let stream = opendir(path) else {
            let error = StateFileError(path, code: errno)
            if error.isMissing { return [] }
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw StateFileError(path, code: errno) }
                return names
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    func open(_ path: String, _ access: StateFileAccess) throws(StateFileError) -> Int32 {
        let flags: Int32 =
            switch access {
            case .existing: O_RDWR
            case .new: O_RDWR | O_CREAT | O_EXCL
            case .replacing: O_RDWR | O_CREAT | O_TRUNC
            }
        return try check(Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600), path)
    }

    func close(_ descriptor: Int32) {
        // A child process has a copy of the descriptor until it calls exec, and with it the lock, if there is one.
        _ = flock(descriptor, LOCK_UN)
        _ = Glibc.close(descriptor)
    }

    func lock(_ descriptor: Int32, _ path: String) throws(StateFileError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw StateFileError(path, code: errno) }
        }
        return true
    }

    func hasName(_ descriptor: Int32, _ path: String) throws(StateFileError) -> Bool {
        try status(descriptor, path).st_nlink > 0
    }

    func read(_ descriptor: Int32, _ path: String) throws(StateFileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(try status(descriptor, path).st_size))
        var used = 0
        while used < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress.map { $0 + used }, buffer.count - used, off_t(used))
            }
            if count < 0, errno == EINTR { continue }
            guard try check(count, path) > 0 else { break }
            used += count
        }
        return Array(bytes[..<used])
    }

    func write(
        _ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int
    ) throws(StateFileError) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            if count < 0, errno == EINTR { continue }
            return try check(count, path)
        }
    }

    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(StateFileError) {
        try check(ftruncate(descriptor, off_t(size)), path)
    }

    func syncData(_ descriptor: Int32, _ path: String) throws(StateFileError) {
        try check(fdatasync(descriptor), path)
    }

    func syncDirectory(_ path: String) throws(StateFileError) {
        let descriptor = try check(Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path)
        defer { close(descriptor) }
        try check(fsync(descriptor), path)
    }

    func rename(_ path: String, to new: String) throws(StateFileError) {
        try check(Glibc.rename(path, new), path)
    }

    func remove(_ path: String) throws(StateFileError) {
        try check(unlink(path), path)
    }

    private func status(_ descriptor: Int32, _ path: String) throws(StateFileError) -> stat {
        var status = stat()
        try check(fstat(descriptor, &status), path)
        return status
    }

    @discardableResult
    private func check<Result: SignedInteger>(_ result: Result, _ path: String) throws(StateFileError) -> Result {
        guard result >= 0 else { throw StateFileError(path, code: errno) }
        return result
    }
}
