import SettingsAPI
import SettingsModel
import Testing

/// Tests of revisions, and of the texts that contain or accompany revisions: cursors, tags, request keys and sources.
struct RevisionTests {
    @Test("A negative number is not a revision")
    func range() {
        #expect(Revision(-1) == nil)
        #expect(Revision(0) == .zero)
        #expect(Revision(Int64.max)?.number == .max)
    }

    @Test("Advancing a revision beyond its range returns nil")
    func advancing() throws {
        let revision = try #require(Revision(5))
        #expect(revision.advanced(by: 1_000_000_000)?.number == 1_000_000_005)
        #expect(revision.advanced(by: -5) == .zero)
        #expect(revision.advanced(by: -6) == nil)
        #expect(Revision(Int64.max)?.advanced(by: 1) == nil)
    }

    @Test("The text of a revision is decimal digits", arguments: ["0", "7", "40", "9223372036854775807"])
    func text(text: String) {
        #expect(Revision(text)?.description == text)
    }

    /// The text `١` is the Arabic-Indic digit 1.
    static let malformedNumbers = [
        "", "-1", "+1", "01", "00", "1.0", " 1", "1 ", "1e3", "9223372036854775808", "١", "x", "0x1",
    ]

    @Test("Text that is not a plain decimal number, or is too large, is not a revision", arguments: malformedNumbers)
    func noRevision(text: String) {
        #expect(Revision(text) == nil)
        #expect(Cursor("7f3a." + text) == nil)
        #expect(EntityTag("\"\(text)\"") == nil)
    }

    @Test("A cursor is an epoch, a dot and a revision")
    func cursor() throws {
        let cursor = try #require(Cursor("7f3a.40"))
        #expect(cursor.epoch.text == "7f3a")
        #expect(cursor.revision.number == 40)
        #expect(cursor.description == "7f3a.40")
        #expect(Cursor(String(repeating: "z", count: 32) + ".0") != nil)
    }

    @Test(
        "Text of another form is not a cursor",
        arguments: [
            "", ".", "40", "7f3a", "7f3a.", ".40", "7F3A.40", "7f3a.4.0", "7f-3a.4", " 7f3a.40", "7f3a.40\n", "é.1",
            String(repeating: "z", count: 33) + ".0",
        ])
    func noCursor(text: String) {
        #expect(Cursor(text) == nil)
    }

    @Test("A watcher can resume from a cursor or from a revision")
    func resumePoint() {
        #expect(ResumePoint("7f3a.40") == Cursor("7f3a.40").map(ResumePoint.cursor))
        #expect(ResumePoint("40") == Revision("40").map(ResumePoint.revision))
        #expect(ResumePoint("7f3a.40")?.revision.number == 40)
        #expect(ResumePoint("40")?.description == "40")
        #expect(ResumePoint("now") == nil)
        #expect(ResumePoint("") == nil)
    }

    @Test("An entity tag is a revision in quotation marks")
    func tag() {
        #expect(EntityTag("\"17\"")?.revision.number == 17)
        #expect(Revision(17).map { EntityTag($0).description } == "\"17\"")
        #expect(EntityTag(weakOrStrong: "W/\"17\"") == EntityTag("\"17\""))
        #expect(EntityTag(weakOrStrong: "\"17\"") == EntityTag("\"17\""))
    }

    @Test("An entity tag may also contain a digest of grants after the revision")
    func digest() {
        let tag = EntityTag("\"17-0k3f9a2\"")
        #expect(tag?.revision.number == 17)
        #expect(tag?.description == "\"17-0k3f9a2\"")
        #expect(tag != EntityTag("\"17\""))
        #expect(EntityTag(weakOrStrong: "W/\"17-0k3f9a2\"") == tag)
    }

    @Test(
        "Text of another form is not an entity tag",
        arguments: [
            "17", "\"\"", "\"", "\"17", "17\"", "W/\"17\"", "\"abc\"", "\"17\"\u{301}", "\"\u{301}17\"", "\"17-\"",
            "\"17-0k3f9a\"", "\"17-0k3f9a22\"", "\"17-0K3F9A2\"", "\"-0k3f9a2\"", "\"17-gzip\"",
        ])
    func foreignTag(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test("In JSON, a revision is an integer and a cursor is a string")
    func bodies() throws {
        try expectRoundTrip("17", as: Revision.self)
        try expectRoundTrip("\"7f3a.40\"", as: Cursor.self)
        #expect(try bodyError("-1", as: Revision.self)?.detail == "must be a revision (got a negative integer)")
        #expect(
            try bodyError("1.0", as: Revision.self)?.detail == "must be an integer (got a floating-point number)")
        #expect(try bodyError("\"40\"", as: Cursor.self) != nil)
    }

    @Test("A request key has 1 to 64 printable ASCII characters")
    func requestKey() {
        let longest = String(repeating: "~", count: 64)
        for text in ["a", "3f 9a", longest] { #expect(RequestKey(text)?.text == text) }
        #expect(RequestKey("3f 9a")?.description == "3f 9a")
        #expect(throws: BodyError.self) { try RequestKey(json: "é") }
        for text in ["", longest + "~", "a\tb", "é", "a\u{7F}"] { #expect(RequestKey(text) == nil) }
    }

    @Test("A source keeps its name, and an unknown source is not readable")
    func source() {
        let known = [
            ("stored", true, true), ("default", true, false), ("unset", false, false), ("invalid", false, true),
        ]
        for (name, isReadable, isStored) in known {
            #expect(Source(name).description == name)
            #expect(Source(name).isReadable == isReadable)
            #expect(Source(name).isStored == isStored)
        }
        #expect(Source("inherited") == .unknown("inherited"))
        #expect(Source("inherited").name == "inherited")
        #expect(!Source("inherited").isReadable)
        #expect(!Source("inherited").isStored)
        #expect(Source("stored") == .stored)
    }
}
