import Glibc

/// Lines of the standard input.
struct CommandInput {
    private var bytes: [UInt8] = []
    private(set) var hasEnded = false

    mutating func read() {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        hasEnded = count <= 0
        bytes += buffer.prefix(max(0, count))
    }

    /// The words of the next line, if it is whole.
    mutating func next() -> [String]? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = String(decoding: bytes[..<end], as: UTF8.self)
        bytes.removeSubrange(...end)
        return line.split(separator: " ").map(String.init)
    }
}
