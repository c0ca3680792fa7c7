internal import Glibc

/// The process that runs this code.
package enum CurrentProcess {
    /// The number of the process.
    package static var identifier: Int32 { getpid() }

    /// The directory that relative paths start from, or nil if it has been removed.
    package static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Ends the process after it has run the exit handlers and has written the text that `print` has buffered.
    package static func exit(code: Int32) -> Never {
        Glibc.exit(code)
    }

    /// Ends the process without exit handlers. Other threads may still be using the data that exit handlers would destroy.
    package static func exitWithoutHandlers(code: Int32) -> Never {
        _exit(code)
    }

    /// Registers a function that ``exit(code:)`` and a return from `main` call. Returns false if there is no memory.
    package static func addExitHandler(_ handler: @escaping @convention(c) () -> Void) -> Bool {
        atexit(handler) == 0
    }
}
