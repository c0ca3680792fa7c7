internal import Glibc

/// A system call that failed, with the error it left.
package struct SystemError: Error, Hashable, Sendable {
    package let call: String
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String {
        // strerror answers from storage of its thread since glibc 2.32.
        guard let text = strerror(code) else { return "\(call): error \(code)" }
        return "\(call): \(String(cString: text)) (error \(code))"
    }
}
