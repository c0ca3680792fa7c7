import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

@Suite(.ownThread)
struct TagListTests {
    private static func revisions(_ numbers: [Int64]) -> TagList {
        .tags(numbers.compactMap { Revision($0) })
    }

    static let read: [(text: String, weakly: [Int64], strongly: [Int64])] = [
        (#""17""#, [17], [17]), (#""0""#, [0], [0]), (#""1","2" ,  "3""#, [1, 2, 3], [1, 2, 3]), (#"W/"17""#, [17], []),
        (#""1", W/"2""#, [1, 2], [1]), (#""abc""#, [], []), (#""""#, [], []), (#""017""#, [], []), (#""-1""#, [], []),
        (#""a,b","5""#, [5], [5]), (#" "5" "#, [5], [5]), (#""9223372036854775808""#, [], []), (#""*""#, [], []),
        (#""1","#, [1], [1]), (#","1""#, [1], [1]), (#" , ,"1",, "2" , "#, [1, 2], [1, 2]),
    ]

    @Test("Tags of this daemon's making are found, others match nothing", arguments: read)
    func reads(text: String, weakly: [Int64], strongly: [Int64]) throws {
        #expect(try TagList(text, in: "If-None-Match", comparesWeakly: true) == Self.revisions(weakly))
        #expect(try TagList(text, in: "If-Match", comparesWeakly: false) == Self.revisions(strongly))
    }

    @Test("A star is any")
    func star() throws {
        #expect(try TagList("*", in: "If-Match", comparesWeakly: false) == .any)
        #expect(TagList.any.matches(.zero))
    }

    @Test(
        "What is no list of tags is refused",
        arguments: [
            "17", "", " ", "\"17", "17\"", "\"1\" \"2\"", ",", " , ,", ",*", "*,", "*,\"1\"", "\"1\",*", "w/\"1\"",
            "W/ \"1\"", "W/1",
            "**", "W", "W/",
        ])
    func refused(text: String) {
        let problem = #expect(throws: Problem.self) { try TagList(text, in: "If-Match", comparesWeakly: true) }
        #expect(problem?.code == .badRequest)
    }

    @Test("A bare number is refused with the hint that quotation marks are missing")
    func hint() {
        let problem = #expect(throws: Problem.self) { try TagList("17", in: "If-Match", comparesWeakly: false) }
        #expect(problem?.detail.hasSuffix(#"write If-Match: "17", with the quotation marks"#) ?? false)
    }
}
