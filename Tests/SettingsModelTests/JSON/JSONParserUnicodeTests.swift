import SettingsModel
import Testing

@Suite("All of Unicode in JSON")
struct JSONParserUnicodeTests {
    private static func scalars(_ range: ClosedRange<UInt32>, step: Int = 1) -> [Unicode.Scalar] {
        stride(from: range.lowerBound, through: range.upperBound, by: step).compactMap { Unicode.Scalar($0) }
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    @Test(
        "Every scalar reads back from what was written",
        arguments: [0...0xFFFF, 0x10000...0x7FFFF, 0x80000...0x10FFFF] as [ClosedRange<UInt32>])
    func roundTrip(range: ClosedRange<UInt32>) throws {
        let value = JSONValue.string(Self.string(Self.scalars(range)))
        #expect(try JSONValue(parsing: value.bytes()) == value)
    }

    @Test("Every scalar of the basic plane reads from its escape, as does a sample of pairs beyond")
    func escaped() throws {
        let scalars = Self.scalars(0...0xFFFF) + Self.scalars(0x10000...0x10FFFF, step: 61)
        var text: [UInt8] = [UInt8(ascii: "\"")]
        for scalar in scalars {
            for unit in UTF16.encode(scalar) ?? .init() {
                let digits = String(unit, radix: 16)
                text += Array("\\u".utf8) + Array(repeating: UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                text += Array(digits.utf8)
            }
        }
        text.append(UInt8(ascii: "\""))
        #expect(try JSONValue(parsing: text) == .string(Self.string(scalars)))
    }

    @Test("Every surrogate without its other half is refused")
    func loneSurrogates() {
        for unit in 0xD800...0xDFFF {
            let text = "\"\\u" + String(unit, radix: 16) + "\""
            guard parseFailure(of: text)?.reason.contains("surrogate") == true else {
                Issue.record("\(text) was not refused as a lone surrogate")
                return
            }
        }
    }
}
