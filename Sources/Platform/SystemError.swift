internal import CLinux
internal import Glibc

/// An error that a system call returned.
package struct SystemError: Error, Equatable, Sendable {
    package let call: String
    /// The `errno` of the call.
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Takes the `errno` that a call has just left.
    package init(call: String) {
        self.init(call: call, code: errno)
    }

    /// The system's words for the code, without the call.
    package var reason: String { Self.text(code) }

    /// Returns the system's words for an `errno`.
    package static func text(_ code: Int32) -> String {
        // strerror returns storage of the calling thread since glibc 2.32.
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(reason) (error \(code))" }
}
