import Platform

/// Shows the progress of a long command in the last line of the terminal. Shows nothing if standard error is not a
/// terminal.
enum Progress {
    private static let isShown = OutputDescriptor.standardError.isTerminal

    static func show(_ verb: String, _ count: Int, of all: Int) {
        if isShown { try? Terminal.write("\r\(verb) \(count) of \(all) settings\u{1B}[K", to: .standardError) }
    }

    /// Clears the line with the progress, so that the next output begins an empty line.
    static func clear() {
        if isShown { try? Terminal.write("\r\u{1B}[K", to: .standardError) }
    }
}
