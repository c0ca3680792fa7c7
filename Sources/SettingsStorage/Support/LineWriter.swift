internal import Dispatch
package import Platform
internal import SettingsAPI
internal import Synchronization

/// A bounded queue of lines for a file descriptor. A serial queue writes the lines, so that no caller waits for the
/// reader of the descriptor. A full queue drops and counts new lines. Thread-safe.
package final class LineWriter: Sendable {
    /// The writer of the daemon's log. `Log.line` formats a line of the log.
    package static let standardError = LineWriter(to: .standardError, capacity: 1 << 20) { count in
        Log.line(
            .now(), .warning,
            "dropped \(count) lines of the log: the reader of standard error was too slow, or standard error "
                + "failed; check the program that reads standard error")
    }

    /// The maximum number of seconds that ``flush()`` waits for a reader of the descriptor that does not read.
    private static let flushTimeout = 5
    /// The approximate memory in bytes that a queue element uses in addition to its lines.
    private static let elementOverhead = 256

    private let descriptor: OutputDescriptor
    private let capacity: Int
    private let makeDropReport: @Sendable (Int) -> String?
    private let queue = DispatchQueue(label: "settingsd.lines", qos: .utility)
    private let queuedBytes = Atomic(0)
    private let droppedCount = Atomic(0)
    /// The part of ``droppedCount`` that `makeDropReport` has reported.
    private let reportedCount = Atomic(0)

    /// - Parameters:
    ///   - capacity: the maximum memory of the queue in bytes.
    ///   - makeDropReport: returns a line that reports this number of dropped lines, or nil if the closure has reported
    ///     them itself. Called on the writing queue when lines were dropped and the queue is at most half full again.
    package init(to descriptor: OutputDescriptor, capacity: Int, makeDropReport: @escaping @Sendable (Int) -> String?) {
        (self.descriptor, self.capacity, self.makeDropReport) = (descriptor, capacity, makeDropReport)
    }

    /// The number of lines that were dropped because the queue was full or the descriptor failed.
    package var droppedLines: Int { droppedCount.load(ordering: .relaxed) }

    /// Queues whole lines.
    package func append(_ lines: [UInt8]) {
        let size = lines.count + Self.elementOverhead
        guard queuedBytes.add(size, ordering: .relaxed).newValue <= capacity else {
            queuedBytes.subtract(size, ordering: .relaxed)
            return drop(lines[...])
        }
        queue.async {
            let isWritten = self.write(lines)
            let queued = self.queuedBytes.subtract(size, ordering: .relaxed).newValue
            if isWritten, queued <= self.capacity / 2 { self.reportDroppedLines() }
        }
    }

    /// Waits until the queued lines are written, but not for long: a reader that hangs must not delay the exit.
    package func flush() {
        guard queuedBytes.load(ordering: .relaxed) > 0 else { return }
        let written = DispatchSemaphore(value: 0)
        queue.async { written.signal() }
        _ = written.wait(timeout: .now() + .seconds(Self.flushTimeout))
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
