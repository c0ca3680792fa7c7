internal import Glibc

/// Reads files of every kind from the beginning to the end: regular files, pipes, devices, and symbolic links to them.
///
/// ``OpenFile`` reads regular files only.
package enum FileContents {
    /// Returns the bytes of a file.
    ///
    /// - Parameters:
    ///   - count: The maximum number of bytes. If the file is longer, the function returns its first `count` bytes.
    ///   - waitsForPipe: Applies to a pipe. If true, the function waits until another process opens the pipe for
    ///     writing, and then until `count` bytes have arrived or every writer has closed the pipe. If false, the
    ///     function never waits: while a process has the pipe open for writing and the pipe contains fewer than `count`
    ///     bytes, the function throws; without such a process, it returns the bytes in the pipe, possibly none.
    package static func read(
        _ path: String, upTo count: Int = .max, waitsForPipe: Bool = true
    ) throws(SystemError) -> [UInt8] {
        let number = open(path.systemBytes, O_RDONLY | O_CLOEXEC | (waitsForPipe ? 0 : O_NONBLOCK))
        guard number >= 0 else { throw SystemError(call: "open") }
        let file = Descriptor(number)
        return try read(file.number, upTo: count)
    }

    /// Returns the bytes of a regular file, or of a symbolic link to a regular file. Throws for other files without
    /// waiting for them. The function may still block for as long as the file system does not answer.
    ///
    /// - Parameter count: The maximum number of bytes. If the file is longer, the function returns its first `count`
    ///   bytes.
    package static func readRegularFile(_ path: String, upTo count: Int) throws(UnreadableFile) -> [UInt8] {
        var status = stat()
        guard stat(path.systemBytes, &status) == 0 else { throw .failed(SystemError(call: "stat")) }
        // Check the kind before `open`, because opening a device can have an effect on the device.
        try checkKind(status)
        // With O_NONBLOCK, the call does not wait if another process has replaced the file by a FIFO since the check.
        let number = open(path.systemBytes, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else { throw .failed(SystemError(call: "open")) }
        let file = Descriptor(number)
        guard fstat(file.number, &status) == 0 else { throw .failed(SystemError(call: "fstat")) }
        try checkKind(status)
        do throws(SystemError) {
            return try read(file.number, upTo: count)
        } catch {
            throw .failed(error)
        }
    }

    /// Returns the bytes of a regular file or of a pipe, or of standard input if the path is `-`. Throws for other
    /// files.
    ///
    /// The function may block until `count` bytes have arrived, or until every writer has closed the pipe.
    package static func readRegularFileOrPipe(_ path: String, upTo count: Int) throws(UnreadableFile) -> [UInt8] {
        do throws(SystemError) {
            if path == "-" { return try readStandardInput(upTo: count) }
            if isPipe(path) { return try read(path, upTo: count) }
        } catch {
            throw .failed(error)
        }
        return try readRegularFile(path, upTo: count)
    }

    /// True if the file is a pipe, which a process can read only once.
    package static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path.systemBytes, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    private static func checkKind(_ status: stat) throws(UnreadableFile) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFIFO: throw .notRegular(kind: "a FIFO")
        case S_IFDIR: throw .notRegular(kind: "a directory")
        case S_IFSOCK: throw .notRegular(kind: "a socket")
        default: throw .notRegular(kind: "a device")
        }
    }

    /// The descriptor of standard input.
    package static let standardInput = STDIN_FILENO

    /// True if standard input is a terminal.
    package static var standardInputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Returns the bytes of standard input, at most `count` bytes.
    package static func readStandardInput(upTo count: Int = .max) throws(SystemError) -> [UInt8] {
        try read(STDIN_FILENO, upTo: count)
    }

    private static func read(_ descriptor: Int32, upTo limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        while bytes.count < limit {
            let count = Glibc.read(descriptor, &chunk, min(chunk.count, limit - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError(call: "read") }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }
}

/// The reason why a function of ``FileContents`` that refuses some kinds of files returns no bytes.
package enum UnreadableFile: Error, Equatable, Sendable {
    case failed(SystemError)
    /// The function does not read files of this kind. The kind is a text with an article for error messages, such as
    /// "a FIFO".
    case notRegular(kind: String)

    /// The cause, for error messages.
    package var reason: String {
        switch self {
        case .failed(let error): error.reason
        case .notRegular(let kind): "it is \(kind), not a regular file"
        }
    }
}
