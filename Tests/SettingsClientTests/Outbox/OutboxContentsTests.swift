import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// The lines of an outbox file. `CheckedLine` adds a checksum (`crc`) and the newline character to a JSON object.
@Suite(.ownThread)
struct OutboxContentsTests {
    private let samples: SampleWrites

    init() throws {
        samples = try SampleWrites()
    }

    private func bytes(_ lines: OutboxLine...) -> [UInt8] {
        lines.flatMap(\.bytes)
    }

    @Test("Each line of an outbox file reads back equal")
    func roundTrips() throws {
        for write in try samples.all() {
            let line = OutboxLine.write(3, write)
            #expect(try OutboxLine(line.bytes.dropLast()) == line)
            #expect(line.bytes.last == UInt8(ascii: "\n") && !line.bytes.dropLast().contains(UInt8(ascii: "\n")))
        }
        for line in [OutboxLine.head(samples.owner), .ended(.max)] {
            #expect(try OutboxLine(line.bytes.dropLast()) == line)
        }
    }

    @Test("The lines of an outbox file have the documented form")
    func form() throws {
        // An increment from 5 to 6. If another program removes the value, the increment starts from 0 (`start`). The
        // parameter `else` says what the client does if the condition fails.
        let plan = PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: 0)
        let condition = Transaction.Condition.setting(samples.suite, samples.key, .value(5))
        let write = try samples.write(.set(6), if: [condition], else: .merge(plan), as: "abc-1")
        let text = String(decoding: bytes(.head(samples.owner), .write(1, write), .ended(1)), as: UTF8.self)
        #expect(
            text == """
                {"crc":"9b2fc292","outbox":1,"server":"http://127.0.0.1:7070","suite":"com.example.app"}
                {"crc":"5ab88705","write":1,"requestKey":"abc-1",\
                "if":[{"suite":"com.example.app","key":"k","value":5}],\
                "do":[{"op":"set","suite":"com.example.app","key":"k","value":6}],\
                "change":{"base":5,"new":6,"start":0,"sum":1}}
                {"crc":"72230d22","ended":1}

                """)
    }

    /// The bytes of a file with three writes. The first write has ended, and the second write was replaced after a
    /// conflict.
    private func sample() throws -> [UInt8] {
        bytes(
            .head(samples.owner), .write(1, try samples.set(1)), .write(2, try samples.set(2)), .ended(1),
            .write(2, try samples.write(.change(.add(2)), as: "again")), .write(3, try samples.set(3)))
    }

    @Test("The complete lines of an outbox file that is cut at any byte are read, and no damage is reported")
    func truncation() throws {
        let bytes = try sample()
        var numberLists: Set<[Int64]> = []
        for length in 0..<bytes.count {
            let contents = try OutboxContents(Array(bytes[..<length]))
            let lengthOfCompleteLines = bytes[..<length].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let expected = try OutboxContents(Array(bytes[..<lengthOfCompleteLines]))
            #expect(contents.writes.elementsEqual(expected.writes, by: ==) && contents.damagedCount == 0)
            numberLists.insert(contents.writes.map(\.number))
        }
        // The last line, with the write 3, is never complete.
        #expect(numberLists == [[], [1], [1, 2], [2]])
    }

    @Test("A changed byte of an outbox file is reported as damage, and loses at most one write")
    func flips() throws {
        let bytes = try sample()
        let undamaged = try OutboxContents(bytes)
        let earlierVersions = try [samples.set(1), samples.set(2)]
        for offset in bytes.indices {
            for mask in [UInt8(0x01), 0x20, 0x80] {
                var damaged = bytes
                damaged[offset] ^= mask
                let contents = try OutboxContents(damaged)
                #expect(contents.damagedCount > 0, "byte \(offset)")
                for write in contents.writes {
                    // If a line that ends or replaces a write is damaged, the earlier version of the write remains.
                    #expect(
                        undamaged.writes.contains { $0 == write } || earlierVersions.contains(write.write),
                        "byte \(offset)")
                }
                let lost = undamaged.writes.filter { write in !contents.writes.contains { $0.number == write.number } }
                #expect(lost.count <= 1, "byte \(offset)")
            }
        }
    }

    @Test("An outbox file of a later version is refused, and a line with unusable members counts as damaged")
    func future() throws {
        let later = CheckedLine.line(of: Array(#"{"outbox":2,"anything":"else"}"#.utf8))
        #expect(throws: OutboxLineError.future(2)) { try OutboxContents(later + OutboxLine.ended(1).bytes) }
        let unknown = [
            #"{"write":1}"#, #"{"write":1,"requestKey":"a"}"#, #"{"write":1,"requestKey":"","do":[]}"#,
            #"{"write":1,"requestKey":"a","do":[{"op":"fly","suite":"app","key":"k"}]}"#,
            #"{"write":1,"requestKey":"a","do":[],"change":{"sum":"1"}}"#,
            #"{"write":1,"requestKey":"a","do":[],"change":1}"#,
            #"{"write":"1","requestKey":"a","do":[]}"#, #"{"begun":1}"#, #"{"outbox":1,"server":"x"}"#,
            #"{"ended":1,"ended":2}"#,
        ]
        for text in unknown {
            let line = CheckedLine.line(of: Array(text.utf8))
            #expect(throws: OutboxLineError.damaged, "\(text)") { try OutboxLine(line.dropLast()) }
            #expect(try OutboxContents(line).damagedCount == 1)
        }
        // These lines have no valid checksum.
        for text in ["", "{", #"{"crc":"00000000","#, #"{"crc":"00000000",}"#, #"{"ended":1}"#, "\u{0}\u{0}\u{0}"] {
            #expect(throws: OutboxLineError.damaged, "\(text)") { try OutboxLine(ArraySlice(Array(text.utf8))) }
        }
    }
}
