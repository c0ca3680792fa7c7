internal import Glibc

/// Reads files of every kind from the beginning to the end: regular files, pipes, devices, and symbolic links to them.
///
/// ``OpenFile`` reads regular files only.
package enum FileContents {
    /// Returns the bytes of a file.
    ///
    /// - Parameters:
    ///   - count: The maximum number of bytes. If the file is longer, the function returns its first `count` bytes.
    ///   - waitsForPipe: Applies to a pipe. If true, the function waits until another process opens the pipe and
    ///     writes to it. If false and the pipe contains no bytes, the function returns an empty array or throws.
    package static func read(
        _ path: String, upTo count: Int = .max, waitsForPipe: Bool = true
    ) throws(SystemError) -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC | (waitsForPipe ? 0 : O_NONBLOCK))
        guard number >= 0 else { throw SystemError(call: "open") }
        let file = Descriptor(number)
        return try read(file.number, upTo: count)
    }

    /// Returns the bytes of standard input.
    package static func readStandardInput() throws(SystemError) -> [UInt8] {
        try read(STDIN_FILENO, upTo: .max)
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
