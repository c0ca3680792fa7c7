import Glibc

/// The commands on standard input, one on each line.
struct CommandInput {
    private var bytes: [UInt8] = []
    /// True if standard input has ended.
    private(set) var hasEnded = false

    /// Reads the bytes that standard input has. Waits if it has none.
    mutating func read() {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        hasEnded = count <= 0
        bytes += buffer.prefix(max(0, count))
    }

    /// Removes the next line, and returns its words; nil if there is no complete line.
    mutating func next() -> [String]? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = String(decoding: bytes[..<end], as: UTF8.self)
        bytes.removeSubrange(...end)
        return line.split(separator: " ").map(String.init)
    }
}
