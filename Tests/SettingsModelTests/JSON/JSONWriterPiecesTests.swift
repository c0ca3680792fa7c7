import SettingsModel
import TestSupport
import Testing

@Suite("JSON written piece by piece")
struct JSONWriterPiecesTests {
    private static let styles: [JSONWriter.Style] = [.compact, .pretty, .canonical, .canonicalPretty]

    private static func text(_ writer: JSONWriter) -> String {
        String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("A writer starts empty and keeps its layout", arguments: styles)
    func empty(style: JSONWriter.Style) {
        let writer = JSONWriter(style: style, reservingCapacity: 100)
        #expect(writer.bytes.isEmpty)
        #expect(writer.style == style)
    }

    @Test("Commas come by themselves, around containers and rendered pieces as well")
    func compact() {
        var writer = JSONWriter()
        Self.writeSample(to: &writer)
        #expect(Self.text(writer) == #"{"a":1,"b":[true,null,{},[],{"r":1},"s",-0.5,{"x":1}],"c":{"d":[1]},"e":0}"#)
    }

    @Test("Line breaks come by themselves, rendered pieces stay as they are")
    func pretty() {
        var writer = JSONWriter(style: .pretty)
        Self.writeSample(to: &writer)
        let expected = """
            {
              "a": 1,
              "b": [
                true,
                null,
                {},
                [],
                {"r":1},
                "s",
                -0.5,
                {
                  "x": 1
                }
              ],
              "c": {"d":[1]},
              "e": 0
            }
            """
        #expect(Self.text(writer) == expected)
    }

    @Test("Members written one by one keep the order of the calls, those of whole values are sorted")
    func sortedPieces() {
        var writer = JSONWriter(style: .canonical)
        writer.beginObject()
        writer.name("z")
        writer.write(["b": 1, "a": 2] as JSONValue)
        writer.name("y")
        writer.writeNull()
        writer.endObject()
        #expect(Self.text(writer) == #"{"z":{"a":2,"b":1},"y":null}"#)
    }

    @Test("A value written in pieces has the bytes of the whole")
    func piecesOfValues() {
        for generator in FuzzBudget.generators(share: 0.1) {
            var random = RandomJSON(generator)
            let value = random.value(levels: 4)
            for style in [JSONWriter.Style.compact, .pretty] {
                var writer = JSONWriter(style: style)
                Self.writePieces(of: value, to: &writer)
                guard writer.bytes == value.bytes(style: style) else {
                    Issue.record("seed \(generator.seed): \(value) as \(Self.text(writer))")
                    return
                }
            }
        }
    }

    private static func writeSample(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("a")
        writer.write(integer: 1)
        writer.name("b")
        writer.beginArray()
        writer.write(bool: true)
        writer.writeNull()
        writer.beginObject()
        writer.endObject()
        writer.beginArray()
        writer.endArray()
        writer.write(rendered: Array(#"{"r":1}"#.utf8).span)
        writer.write(string: "s")
        writer.write(double: -0.5)
        writer.write(["x": 1] as JSONValue)
        writer.endArray()
        writer.name("c")
        writer.write(rendered: Array(#"{"d":[1]}"#.utf8).span)
        writer.name("e")
        writer.write(integer: 0)
        writer.endObject()
    }

    private static func writePieces(of value: JSONValue, to writer: inout JSONWriter) {
        switch value {
        case .array(let elements):
            writer.beginArray()
            for element in elements { writePieces(of: element, to: &writer) }
            writer.endArray()
        case .object(let object):
            writer.beginObject()
            for member in object {
                writer.name(member.name)
                writePieces(of: member.value, to: &writer)
            }
            writer.endObject()
        case .null: writer.writeNull()
        case .bool(let bool): writer.write(bool: bool)
        case .integer(let integer): writer.write(integer: integer)
        case .double(let double): writer.write(double: double)
        case .string(let string): writer.write(string: string)
        }
    }
}
