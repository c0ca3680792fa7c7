import Foundation
import SettingsClient

struct WriterKeys: DefaultsKeyStore {
    var first: DefaultsKey<Int> { .init("first", defaultValue: 0) }
    var second: DefaultsKey<Int> { .init("second", defaultValue: 0) }
    var sum: DefaultsKey<Int> { .init("sum", defaultValue: 0, merge: .sum) }
    var numbers: DefaultsKey<[Int]> { .init("numbers", defaultValue: [], merge: .append) }
}

/// Writes numbers with setters, async methods and transactions.
///
/// The number determines the keys: a multiple of 11 is stored under `first` and `second` in one transaction. Any other
/// number is stored under `first` or `second`, added to `sum` or appended to `numbers`, depending on its remainder
/// modulo 4. Of these other numbers, an async method writes the multiples of 13, and a setter writes the rest. After
/// each multiple of 17 or 29, the writer sends the waiting writes.
///
/// For each number, the writer prints "wrote N" when the call has returned. Before this line, the writer prints
/// "skipped N" if the call wrote nothing. It prints "confirmed N" when the daemon has confirmed all numbers up to N.
struct MixedWriter {
    let writer: DefaultsAdapter<WriterKeys>

    func write(_ numbers: ClosedRange<Int>) async {
        say("started")
        for number in numbers {
            await write(number)
            if number % 17 == 0 { await runAndReport(number, isWrite: false) { try await writer.flush() } }
            if number % 29 == 0 { await runAndReport(number, isWrite: false) { try writer.synchronize() } }
        }
        // On a busy machine, one flush may take longer than the timeout, so the writer repeats the last flush.
        for _ in 0..<100 {
            if await runAndReport(numbers.upperBound, isWrite: false, { try await writer.flush() }) { return }
        }
    }

    private func write(_ number: Int) async {
        switch (number % 11, number % 4, number % 13) {
        case (0, _, _):
            await runAndReport(number) {
                try await writer.transaction { transaction in
                    transaction.first = number
                    transaction.second = number
                }
            }
        case (_, 0, 0): await runAndReport(number) { try await writer.set(\.first, number) }
        case (_, 1, 0): await runAndReport(number) { try await writer.set(\.second, number) }
        case (_, 2, 0): await runAndReport(number) { try await writer.update(\.sum) { $0 += number } }
        case (_, _, 0): await runAndReport(number) { try await writer.update(\.numbers) { $0.append(number) } }
        case (_, 0, _): writer.first = number
        case (_, 1, _): writer.second = number
        case (_, 2, _): writer.sum += number
        default: writer.numbers.append(number)
        }
        say("wrote \(number)")
    }

    /// Runs the body. Then prints "confirmed N" if the daemon has confirmed the number, or "skipped N" if the body
    /// wrote nothing, because it could not read the old value. Prints no line if the write waits in the outbox, or if
    /// the daemon does not answer while the body only sends the waiting writes. After any other error, prints a line
    /// that begins with "failed:".
    ///
    /// - Parameter isWrite: True if the body writes the number, false if the body only sends the waiting writes.
    @discardableResult
    private func runAndReport(_ number: Int, isWrite: Bool = true, _ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            say("confirmed \(number)")
            return true
        } catch DefaultsError.kept {
        } catch DefaultsError.unreachable {
            if isWrite { say("skipped \(number)") }
        } catch {
            say("failed: \(number): \(error)")
        }
        return false
    }
}

extension DefaultsError {
    /// True if the write waits in the outbox.
    var isKept: Bool { if case .kept = self { true } else { false } }
}

/// Prints a line on standard error. The full stop at the end of a line shows the test that the line is complete,
/// because a killed writer may leave a part of a line.
func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text).\n".utf8))
}
