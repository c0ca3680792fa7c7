import Glibc

/// The progress of a long command, in the last line of the terminal of messages; nothing elsewhere.
enum Progress {
    private static let isShown = isatty(STDERR_FILENO) == 1

    static func show(_ verb: String, _ count: Int, of all: Int) {
        if isShown { _ = Terminal.put(Array("\r\(verb) \(count) of \(all) settings\u{1B}[K".utf8), on: STDERR_FILENO) }
    }

    /// Clears the line, so that a message can stand there.
    static func clear() {
        if isShown { _ = Terminal.put(Array("\r\u{1B}[K".utf8), on: STDERR_FILENO) }
    }
}
