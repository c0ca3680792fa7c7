internal import CLinux

/// The command line of the process.
package enum ProcessArguments {
    /// The words of the command line, the name of the program first.
    ///
    /// `CommandLine.arguments` of the Swift runtime is empty without `/proc`, or if a preloaded library has moved the environment.
    package static let all: [String] = {
        guard let words = process_arguments() else { return [] }
        return (0..<Int(process_argument_count())).compactMap { words[$0].map { String(cString: $0) } }
    }()
}
