internal import Glibc

/// The process that runs this code.
package enum CurrentProcess {
    package static var identifier: Int32 { getpid() }

    /// The name of the host, or nil if the kernel does not report it.
    package static var hostName: String? {
        var name = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
        guard gethostname(&name, name.count) == 0 else { return nil }
        return name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }

    /// The path of the working directory, or nil if the directory has been removed or cannot be read.
    package static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Runs the exit handlers, writes the text that `print` has buffered, and ends the process.
    package static func exit(code: Int32) -> Never {
        Glibc.exit(code)
    }

    /// Ends the process without running exit handlers, because the handlers could destroy data that other threads use.
    /// Text that `print` has buffered is lost.
    package static func exitWithoutHandlers(code: Int32) -> Never {
        _exit(code)
    }

    /// Registers a function that runs in ``exit(code:)`` and when `main` returns. Returns false if memory is exhausted.
    package static func addExitHandler(_ handler: @escaping @convention(c) () -> Void) -> Bool {
        atexit(handler) == 0
    }
}
