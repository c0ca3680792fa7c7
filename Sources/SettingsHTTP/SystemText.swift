internal import Glibc

/// Errors of the system for people.
package enum SystemText {
    package static func of(_ code: Int32) -> String {
        // strerror answers from storage of its thread since glibc 2.32.
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
