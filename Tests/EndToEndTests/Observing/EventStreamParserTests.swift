import TestSupport
import Testing

/// The parser that the tests of streams rely on.
@Suite(.ownThread)
struct EventStreamParserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let events: [EventStreamParser.Event]
        let id: String
        let retry: Int?

        init(
            _ name: String, _ text: String, _ events: [EventStreamParser.Event] = [], id: String = "",
            retry: Int? = nil
        ) {
            self.init(name, bytes: Array(text.utf8), events, id: id, retry: retry)
        }

        init(
            _ name: String, bytes: [UInt8], _ events: [EventStreamParser.Event] = [], id: String = "",
            retry: Int? = nil
        ) {
            testDescription = name
            self.bytes = bytes
            self.events = events
            self.id = id
            self.retry = retry
        }
    }

    static let cases: [Case] = lines + fields + blocks

    private static let lines: [Case] = [
        Case("LF", "data: a\n\n", [.init("message", "a")]),
        Case("CR", "data: a\r\r", [.init("message", "a")]),
        Case("CRLF", "data: a\r\n\r\n", [.init("message", "a")]),
        Case("CR and LF mixed", "data: a\r\ndata: b\rdata: c\n\r", [.init("message", "a\nb\nc")]),
        Case(
            "LF before CR is an empty line of its own", "data: a\n\rdata: b\n\r",
            [.init("message", "a"), .init("message", "b")]),
        Case("A mark at the start", "\u{FEFF}data: a\n\n", [.init("message", "a")]),
        Case("Only one mark is left out", "\u{FEFF}\u{FEFF}data: a\n\n"),
        Case("A mark later on is text", "\n\u{FEFF}data: a\n\ndata:\u{FEFF}b\n\n", [.init("message", "\u{FEFF}b")]),
        Case(
            "Half a mark is text", bytes: [0xEF, 0xBB] + Array("data: a\n\ndata: b\n\n".utf8), [.init("message", "b")]),
        Case("A mark and nothing else", "\u{FEFF}"),
        Case(
            "What is no UTF-8 is replaced", bytes: Array("data: ".utf8) + [0xFF] + Array("a\n\n".utf8),
            [.init("message", "\u{FFFD}a")]),
        Case("Characters of several bytes", "data: é漢🎺\n\n", [.init("message", "é漢🎺")]),
        Case("Nothing at all", ""),
    ]

    private static let fields: [Case] = [
        Case("Comments", ": a\n:data: b\n:\n\ndata: c\n: d\n\n", [.init("message", "c")]),
        Case("A field without colon", "data\n\n", [.init("message", "")]),
        Case("Two of them", "data\ndata\n\n", [.init("message", "\n")]),
        Case("A field without value", "data:\n\n", [.init("message", "")]),
        Case("One leading space is left out", "data:  a \n\n", [.init("message", " a ")]),
        Case("No other leading space is", "data:\ta\n\n", [.init("message", "\ta")]),
        Case("The first colon counts", "data:a:b: c\n\n", [.init("message", "a:b: c")]),
        Case("Several lines of data", "data: a\ndata:\ndata: b\n\n", [.init("message", "a\n\nb")]),
        Case("A name with a space before it is another name", " data: a\n\n"),
        Case("A name with a space behind it is another name", "data : a\n\n"),
        Case("Names are as they are written", "Data: a\nDATA: b\n\n"),
        Case("Unknown fields", "more: a\ndata: b\nx\n\n", [.init("message", "b")]),
        Case("An identifier", "id: 1\ndata: a\n\n", [.init("message", "a", id: "1")], id: "1"),
        Case(
            "It stays", "id: 1\ndata: a\n\ndata: b\n\n",
            [.init("message", "a", id: "1"), .init("message", "b", id: "1")], id: "1"),
        Case("It can be taken back", "id: 1\ndata: a\n\nid\n\n", [.init("message", "a", id: "1")]),
        Case("One with NUL is ignored", "id: 1\n\nid: 2\u{0}\ndata: a\n\n", [.init("message", "a", id: "1")], id: "1"),
        Case("One alone is taken and makes no event", "id: 7f3a.40\n\n", id: "7f3a.40"),
        Case("The last of several counts", "id: 1\nid: 2\n\n", id: "2"),
        Case("How long to wait", "retry: 1000\n\n", retry: 1000),
        Case("It needs no empty line", "retry: 1000\n", retry: 1000),
        Case("The last one counts", "retry: 1000\nretry: 2\n", retry: 2),
        Case(
            "It has digits only", "retry: 7\nretry: 1e3\nretry: -1\nretry: +1\nretry: 1.5\nretry:  1\nretry:\n",
            retry: 7),
        Case("Nor digits of another script", "retry: \u{661}\n"),
        Case("One beyond all measure", "retry: 99999999999999999999\n", retry: .max),
    ]

    private static let blocks: [Case] = [
        Case("A name", "event: commit\ndata: a\n\n", [.init("commit", "a")]),
        Case(
            "It is forgotten", "event: commit\ndata: a\n\ndata: b\n\n", [.init("commit", "a"), .init("message", "b")]),
        Case("Also where there was no data", "event: commit\n\ndata: a\n\n", [.init("message", "a")]),
        Case("An empty name is none", "event:\ndata: a\n\n", [.init("message", "a")]),
        Case("The last name counts", "event: a\nevent: b\ndata: c\n\n", [.init("b", "c")]),
        Case("Fields in any order", "data: a\nid: 1\nevent: b\n\n", [.init("b", "a", id: "1")], id: "1"),
        Case("Empty lines alone", "\n\n\n\r\n\r\r"),
        Case("What is not ended does not count", "data: a\n\nid: 2\ndata: b\n", [.init("message", "a")]),
        Case("Nor what has no end of its line", "data: a\n\ndata: b", [.init("message", "a")]),
    ]

    @Test("Events are found as the standard says, wherever the bytes are divided", arguments: cases)
    func table(item: Case) {
        for place in 0...item.bytes.count {
            var parser = EventStreamParser()
            let events = parser.feed(item.bytes[..<place]) + parser.feed(item.bytes[place...])
            #expect(events == item.events, "divided at \(place)")
            #expect(parser.lastEventID == item.id, "divided at \(place)")
            #expect(parser.retry == item.retry, "divided at \(place)")
        }
        var parser = EventStreamParser()
        #expect(item.bytes.flatMap { parser.feed([$0]) } == item.events, "byte by byte")
    }

    @Test("The identifier of a reader that came back lasts until the first block ends")
    func comeBack() {
        var parser = EventStreamParser(lastEventID: "7")
        #expect(parser.feed("retry: 1\nid: 8\ndata: a\n".utf8).isEmpty)
        #expect(parser.lastEventID == "7")
        #expect(parser.feed("\n".utf8) == [.init("message", "a", id: "8")])
        var other = EventStreamParser(lastEventID: "7")
        #expect(other.feed("retry: 1\n\n".utf8).isEmpty)
        #expect(other.lastEventID.isEmpty)
    }

    @Test("An event is there with the end of its last line, and not before")
    func moment() {
        var parser = EventStreamParser()
        #expect(parser.feed("id: 1\ndata: a\r".utf8).isEmpty)
        #expect(parser.lastEventID.isEmpty)
        #expect(parser.feed("\r".utf8) == [.init("message", "a", id: "1")])
        #expect(parser.feed("\ndata: b\n".utf8).isEmpty)
        #expect(parser.feed("\n".utf8) == [.init("message", "b", id: "1")])
    }
}
