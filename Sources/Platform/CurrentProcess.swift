internal import Glibc

/// The process that runs this code.
package enum CurrentProcess {
    package static var identifier: Int32 { getpid() }

    /// The path of the working directory, or nil if the directory has been removed.
    package static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Runs the exit handlers, writes the text that `print` has buffered, and ends the process.
    package static func exit(code: Int32) -> Never {
        Glibc.exit(code)
    }

    /// Ends the process without running exit handlers, which could destroy data that other threads use.
    package static func exitWithoutHandlers(code: Int32) -> Never {
        _exit(code)
    }

    /// Registers a function that runs in ``exit(code:)`` and when `main` returns. Returns false if memory is exhausted.
    package static func addExitHandler(_ handler: @escaping @convention(c) () -> Void) -> Bool {
        atexit(handler) == 0
    }
}
