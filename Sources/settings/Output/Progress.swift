import Platform

/// The progress of a long command, in the last line of the terminal of messages; nothing elsewhere.
enum Progress {
    private static let isShown = OutputDescriptor.standardError.isTerminal

    static func show(_ verb: String, _ count: Int, of all: Int) {
        if isShown { try? Terminal.write("\r\(verb) \(count) of \(all) settings\u{1B}[K", to: .standardError) }
    }

    /// Clears the line, so that a message can stand there.
    static func clear() {
        if isShown { try? Terminal.write("\r\u{1B}[K", to: .standardError) }
    }
}
