internal import CLinux
internal import Glibc

/// A descriptor for text output, such as standard output, a pipe or a terminal. The value does not own the descriptor,
/// so the code that makes the value must keep the descriptor open.
package struct OutputDescriptor: Sendable {
    /// An error that ended a write early.
    package struct PartialWriteError: Error {
        /// The number of bytes that were written before the error.
        package let writtenCount: Int
        package let cause: SystemError
    }

    package static let standardOutput = OutputDescriptor(STDOUT_FILENO)
    package static let standardError = OutputDescriptor(STDERR_FILENO)

    private let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// Writes all bytes. Waits while the pipe or terminal is full, even if the descriptor is in non-blocking mode.
    package func write(_ bytes: Span<UInt8>) throws(PartialWriteError) {
        var writtenCount = 0
        while writtenCount < bytes.count {
            let count = bytes.extracting(writtenCount...).withUnsafeBytes {
                Glibc.write(number, $0.baseAddress, $0.count)
            }
            let code = errno
            if count > 0 {
                writtenCount += count
            } else if count < 0, code == EAGAIN {
                _ = PollSet.wait(for: .writable, on: number, until: nil)
            } else if count == 0 || code != EINTR {
                throw PartialWriteError(writtenCount: writtenCount, cause: SystemError(call: "write", code: code))
            }
        }
    }

    package var isTerminal: Bool { isatty(number) == 1 }

    /// The number of columns of the terminal, or nil if the descriptor is not a terminal or does not report a width.
    package var terminalWidth: Int? {
        var size = winsize()
        guard ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes the text that `print` has buffered to standard output.
    package static func flushPrintedText() throws(SystemError) {
        guard fflush(nil) == 0 else { throw SystemError(call: "fflush") }
    }
}
