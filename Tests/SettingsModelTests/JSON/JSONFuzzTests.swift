import SettingsModel
import TestSupport
import Testing

/// Tests that parsing any bytes returns a value or an error, and that the text of a returned value parses to an equal
/// value.
@Suite(.ownThread)
struct JSONFuzzTests {
    private static let styles: [JSONWriter.Style] = [.compact, .pretty, .canonical, .canonicalPretty]

    @Test("Random bytes are parsed or refused without a trap")
    func randomBytes() {
        // By default, the test runs 1,000 rounds. Each round has its own random generator.
        for var generator in FuzzBudget.generators() {
            let bytes = (0..<generator.below(64)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            guard Self.satisfiesInvariants(bytes, generator.seed) else { return }
        }
    }

    @Test("Random sequences of JSON tokens are parsed or refused without a trap")
    func randomTokens() {
        let tokens = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\uD83D", "\\uDE00", "\"a\"", "\"a\":", "null", "true",
            "fals",
            "0", "1", "-", ".", "e", "E+", "9223372036854775807", "9", "1e308", " ", "\n", "\u{E9}", "e\u{301}",
            "\u{0}",
        ]
        for var generator in FuzzBudget.generators() {
            let text = (0..<generator.below(12)).map { _ in generator.pick(tokens) }.joined()
            guard Self.satisfiesInvariants(Array(text.utf8), generator.seed) else { return }
        }
    }

    @Test("Documents with changed, inserted and removed bytes are parsed or refused without a trap")
    func mutatedDocuments() {
        for var generator in FuzzBudget.generators() {
            var bytes = Self.document(&generator)
            for _ in 0...generator.below(4) { Self.mutate(&bytes, &generator) }
            guard Self.satisfiesInvariants(bytes, generator.seed) else { return }
        }
    }

    @Test("Truncated documents and joined parts of two documents are parsed or refused without a trap")
    func splicedDocuments() {
        for var generator in FuzzBudget.generators() {
            let (first, second) = (Self.document(&generator), Self.document(&generator))
            let head = first.prefix(generator.below(first.count + 1))
            let tail = second.suffix(generator.below(second.count + 1))
            guard Self.satisfiesInvariants(Array(head + tail), generator.seed),
                Self.satisfiesInvariants(Array(head), generator.seed),
                Self.satisfiesInvariants(Array(tail), generator.seed)
            else { return }
        }
    }

    @Test("Random documents are equal and in the same order after writing and reading")
    func intactDocuments() throws {
        for generator in FuzzBudget.generators(roundsFactor: 0.3) {
            var random = RandomJSON(generator)
            let value = random.value(levels: 4)
            let bytes = value.bytes()
            guard try JSONValue(parsing: bytes) == value, try JSONValue(parsing: bytes).bytes() == bytes,
                Self.satisfiesInvariants(bytes, generator.seed)
            else {
                Issue.record("seed \(generator.seed): \(value) is not equal after writing and reading")
                return
            }
        }
    }

    /// Returns the sample document or a random document.
    private static func document(_ generator: inout SeededGenerator) -> [UInt8] {
        if generator.chance(oneIn: 20) { return SampleDocument.bytes }
        var random = RandomJSON(SeededGenerator(seed: generator.next()))
        return random.value(levels: 3).bytes(style: generator.pick(styles))
    }

    private static func mutate(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        let significantBytes = Array("{}[]\",:\\u0e-. \n".utf8) + [0x00, 0x1F, 0x80, 0xC3, 0xED, 0xEF, 0xFF]
        let byte =
            generator.chance(oneIn: 4) ? UInt8(truncatingIfNeeded: generator.next()) : generator.pick(significantBytes)
        let position = generator.below(bytes.count + 1)
        switch generator.below(4) {
        case 0: bytes.insert(byte, at: position)
        case 1: bytes.removeSubrange(position..<min(bytes.count, position + 1 + generator.below(3)))
        case 2 where position < bytes.count: bytes[position] = byte
        case 3 where position < bytes.count: bytes[position] ^= 1 << UInt8(generator.below(8))
        default: bytes.append(byte)
        }
    }

    /// Checks the properties that hold for any bytes, and records the first violated property.
    private static func satisfiesInvariants(_ bytes: [UInt8], _ seed: UInt64) -> Bool {
        func broken(_ invariant: String) -> Bool {
            Issue.record(
                "seed \(seed): violated: \(invariant): \(bytes) = \(String(decoding: bytes, as: UTF8.self).debugDescription)"
            )
            return false
        }
        let text = String(validating: bytes, as: UTF8.self)
        do throws(JSONParseError) {
            let value = try JSONValue(parsing: bytes)
            guard let text, try JSONValue(parsing: text) == value else {
                return broken("the bytes and the text parse to equal values")
            }
            for style in styles {
                guard try JSONValue(parsing: value.bytes(style: style)) == value else {
                    return broken("the value is equal after writing in the layout \(style) and reading")
                }
            }
        } catch {
            guard (0...bytes.count).contains(error.offset), error.line >= 1, error.column >= 1, !error.reason.isEmpty
            else {
                return broken("an error has an offset in the text, a line, a column and a reason")
            }
            if let text, parseFailure(of: text) != error {
                return broken("the bytes and the text are refused with the same error")
            }
            if text == nil, error.reason != "the bytes are not valid UTF-8" {
                return broken("bytes that are not UTF-8 are refused with the reason that they are not valid UTF-8")
            }
        }
        return true
    }
}
