internal import CLinux
internal import Glibc

/// An error of a system call.
package struct SystemError: Error, Equatable, Sendable {
    /// The name of the system call, such as `bind`.
    package let call: String
    /// The `errno` of the call.
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Makes an error with the current value of `errno`. Use it directly after the call that failed.
    package init(call: String) {
        self.init(call: call, code: errno)
    }

    /// The description of the code by the C library, such as "Address already in use".
    package var reason: String { Self.text(code) }

    /// Returns the description of an `errno` by the C library.
    package static func text(_ code: Int32) -> String {
        // `strerror` is thread-safe since glibc 2.32, because its result belongs to the calling thread.
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(reason) (error \(code))" }
}
