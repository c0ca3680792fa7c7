internal import CLinux

/// The command line of the process.
package enum ProcessArguments {
    /// The arguments of `main`. The first argument is the name of the program.
    ///
    /// Use this property instead of `CommandLine.arguments`, which is empty if `/proc` is not mounted, or if a
    /// preloaded library has moved the environment in memory.
    package static let all = map { String(cString: $0) }

    /// The arguments of `main`, with an escape for each byte that is not UTF-8. In `all`, U+FFFD replaces these bytes.
    package static var withEscapedBytes: [String] { map { String(escapingInvalidBytesOf: $0) } }

    private static func map(_ text: (UnsafePointer<CChar>) -> String) -> [String] {
        guard let arguments = process_arguments() else { return [] }
        return (0..<Int(process_argument_count())).compactMap { arguments[$0].map { text($0) } }
    }
}
