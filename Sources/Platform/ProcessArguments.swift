internal import CLinux

/// The command line of the process.
package enum ProcessArguments {
    /// The arguments of `main`. The first argument is the name of the program.
    ///
    /// Use this property instead of `CommandLine.arguments`, which is empty if `/proc` is not mounted, or if a
    /// preloaded library has moved the environment in memory.
    package static let all: [String] = {
        guard let arguments = process_arguments() else { return [] }
        return (0..<Int(process_argument_count())).compactMap { arguments[$0].map { String(cString: $0) } }
    }()

    /// The index in `all` of the first argument that is not valid UTF-8; nil if all arguments are valid. The name of
    /// the program is not checked. In `all`, U+FFFD replaces invalid bytes.
    package static let firstInvalidPosition: Int? = {
        guard let arguments = process_arguments() else { return nil }
        return (0..<Int(process_argument_count())).dropFirst().first { position in
            arguments[position].map { String(validatingCString: $0) == nil } ?? false
        }
    }()
}
