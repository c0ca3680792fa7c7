internal import Dispatch
package import Platform
internal import SettingsAPI
internal import Synchronization

/// A bounded buffer of lines for a file descriptor. A serial queue writes the lines, so that no thread that appends
/// lines waits for the reader of the descriptor. A full buffer drops and counts new lines. Thread-safe.
package final class LineWriter: Sendable {
    private struct Buffer {
        var lines: [UInt8] = []
        /// The number of bytes that the writing queue has taken from `lines` and not yet written.
        var unwritten = 0
        /// True if the writing queue will take `lines`.
        var isWriteScheduled = false
    }

    /// The writer of the daemon's log. `Log.line` formats a line of the log.
    package static let standardError = LineWriter(to: .standardError, capacity: 1 << 20) { count in
        Log.line(
            .now(), .warning,
            "dropped \(count) lines of the log: the reader of standard error was too slow, or standard error "
                + "failed; check the program that reads standard error")
    }

    /// The maximum number of seconds that ``flush()`` waits for a reader of the descriptor that does not read.
    private static let flushTimeout = 5

    private let descriptor: OutputDescriptor
    private let capacity: Int
    private let delay: Duration
    private let makeDropReport: @Sendable (Int) -> String?
    private let queue = DispatchQueue(label: "settingsd.lines", qos: .utility)
    private let buffer = Mutex(Buffer())
    private let droppedCount = Atomic(0)
    /// The part of ``droppedCount`` that `makeDropReport` has reported.
    private let reportedCount = Atomic(0)

    /// - Parameters:
    ///   - capacity: the maximum number of bytes in the buffer.
    ///   - delay: how long the writer collects lines before it writes them. Without a delay, each of many successive
    ///     lines would wake the writing queue.
    ///   - makeDropReport: gets the number of lines that were dropped since its last call. Returns a line that reports
    ///     this number, or nil if the closure has reported the number itself. Called on the writing queue after a
    ///     successful write, if lines were dropped and the buffer is at most half full again.
    package init(
        to descriptor: OutputDescriptor, capacity: Int, delay: Duration = .zero,
        makeDropReport: @escaping @Sendable (Int) -> String?
    ) {
        (self.descriptor, self.capacity, self.delay) = (descriptor, capacity, delay)
        self.makeDropReport = makeDropReport
    }

    /// The number of lines that were dropped because the buffer was full or the descriptor failed.
    package var droppedLines: Int { droppedCount.load(ordering: .relaxed) }

    /// Adds whole lines to the buffer.
    package func append(_ lines: [UInt8]) {
        let (isAdded, mustScheduleWrite) = buffer.withLock { buffer in
            guard buffer.lines.count + buffer.unwritten + lines.count <= capacity else { return (false, false) }
            buffer.lines += lines
            defer { buffer.isWriteScheduled = true }
            return (true, !buffer.isWriteScheduled)
        }
        if !isAdded { drop(lines[...]) }
        guard mustScheduleWrite else { return }
        if delay == .zero {
            queue.async { self.writeBuffer() }
        } else {
            queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay / .nanoseconds(1)))) { self.writeBuffer() }
        }
    }

    /// Waits until the lines in the buffer are written, but at most ``flushTimeout``: a reader that hangs must not
    /// delay the exit of the daemon.
    package func flush() {
        guard buffer.withLock({ $0.isWriteScheduled || $0.unwritten > 0 }) else { return }
        let written = DispatchSemaphore(value: 0)
        queue.async {
            self.writeBuffer()
            written.signal()
        }
        _ = written.wait(timeout: .now() + .seconds(Self.flushTimeout))
    }

    /// Writes the lines in the buffer. Runs on the writing queue.
    private func writeBuffer() {
        let lines = buffer.withLock { buffer in
            defer { (buffer.lines, buffer.unwritten, buffer.isWriteScheduled) = ([], buffer.lines.count, false) }
            return buffer.lines
        }
        let isWritten = write(lines)
        let size = buffer.withLock { buffer in
            buffer.unwritten = 0
            return buffer.lines.count
        }
        if isWritten, size <= capacity / 2 { reportDroppedLines() }
    }

    private func drop(_ lines: ArraySlice<UInt8>) {
        // A line of which only a part was written counts as dropped. Text without a line feed counts as one line.
        droppedCount.add(max(1, lines.count { $0 == UInt8(ascii: "\n") }), ordering: .relaxed)
    }

    private func reportDroppedLines() {
        let total = droppedLines
        let count = total - reportedCount.exchange(total, ordering: .relaxed)
        if count > 0, let line = makeDropReport(count) { _ = write(Array((line + "\n").utf8)) }
    }

    /// Returns false if the descriptor failed. Runs on the writing queue.
    private func write(_ lines: [UInt8]) -> Bool {
        do throws(OutputDescriptor.PartialWriteError) {
            try descriptor.write(lines.span)
            return true
        } catch {
            drop(lines[error.writtenCount...])
            return false
        }
    }
}
