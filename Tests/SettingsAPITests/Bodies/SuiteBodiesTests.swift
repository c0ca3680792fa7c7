import SettingsAPI
import SettingsModel
import Testing

/// `RefusedBody`: an invalid body, the pointer to the invalid part, and texts that the error contains.
struct SuiteBodiesTests {
    static let setting =
        #""suite":"app","key":"k","value":1,"source":"stored","revision":17,"modified":"2026-11-20T10:00:00.123Z""#
    static let change =
        #"{"suite":"app","key":"k","old":1,"new":2,"oldSource":"stored","source":"stored","revision":22,"#
        + #""modified":"2026-11-20T10:00:00.123Z"}"#

    @Test(
        "The state of a suite is equal after writing and reading",
        arguments: [
            BodyCase(
                "two values",
                #"{"suite":"app","revision":21,"schemaRevision":3,"cursor":"7f3a.40","values":{"a":1,"b":null}}"#),
            BodyCase("empty", #"{"suite":"app","revision":0,"schemaRevision":0,"cursor":"7f3a.0","values":{}}"#),
            BodyCase(
                "with invalid keys and secrets",
                #"{"suite":"app","revision":21,"schemaRevision":3,"cursor":"7f3a.40","values":{},"#
                    + #""invalid":{"x/y":{"stored":null,"errors":[{"pointer":"/a","keyword":"k","detail":"d"}]},"#
                    + #""z":{"errors":[]}},"secrets":["password","token"]}"#),
        ])
    func state(body: BodyCase) throws {
        try expectRoundTrip(body.text, as: SuiteState.self)
    }

    @Test("Reading the state of a suite keeps the cursor and the order of the values")
    func values() throws {
        let text = #"{"suite":"app","revision":21,"schemaRevision":3,"cursor":"7f3a.40","values":{"b":1,"a":{"c":[]}}}"#
        let state = try SuiteState(json: JSONValue(parsing: text))
        #expect(state.contents.values.map(\.key.text) == ["b", "a"])
        #expect(state.contents.values.map(\.value) == [1, ["c": []]])
        #expect(state.cursor == Cursor("7f3a.40"))
    }

    @Test(
        "An invalid state is refused with the pointer to the invalid member",
        arguments: [
            RefusedBody(
                "an invalid key name",
                #"{"suite":"app","revision":21,"schemaRevision":3,"cursor":"7f3a.40","values":{"..":1}}"#,
                at: "/values/..", stating: ["'.' or '..'"]),
            RefusedBody(
                "values that are not an object", #"{"suite":"app","schemaRevision":3,"values":[]}"#,
                at: "/values", stating: ["an object", "got an array"]),
            RefusedBody(
                "an invalid key whose violation has no keyword",
                #"{"suite":"app","schemaRevision":3,"values":{},"invalid":{"k":{"errors":[{}]}}}"#,
                at: "/invalid/k/errors/0", stating: [#""keyword""#]),
        ])
    func refused(body: RefusedBody) throws {
        try body.expectRefusal(as: SuiteState.self)
    }

    @Test("Listings and summaries are equal after writing and reading")
    func listings() throws {
        try expectRoundTrip(#"{"suites":[],"revision":0}"#, as: SuiteListing.self)
        let suites = try expectRoundTrip(
            #"{"suites":[{"suite":"app","keyCount":3,"invalidCount":1,"revision":21,"hasSchema":true}],"revision":40,"next":"app"}"#,
            as: SuiteListing.self)
        #expect(suites.suites.first?.keyCount == 3)
        #expect(suites.suites.first?.invalidCount == 1)

        let keys = try expectRoundTrip(
            #"{"suite":"app","revision":21,"keys":[{\#(Self.setting),"schema":{"type":"integer"},"writable":true},"#
                + #"{\#(Self.setting),"writable":false}],"next":"k"}"#, as: KeyListing.self)
        #expect(keys.keys.map(\.schema) == [["type": "integer"], nil])
        #expect(keys.keys.map(\.isWritable) == [true, false])

        try expectRoundTrip(#"{"revision":22,"changed":false,"changes":[]}"#, as: WriteSummary.self)
        let summary = try expectRoundTrip(
            #"{"revision":22,"changed":true,"changes":[\#(Self.change)],"schemaRevision":22,"dryRun":true,"replayed":true}"#,
            as: WriteSummary.self)
        #expect(summary.changes.first?.new == 2)
    }

    @Test("The description of the service is equal after writing and reading")
    func service() throws {
        let service = try expectRoundTrip(
            #"{"name":"settingsd","version":"1.0.0","revision":40,"cursor":"7f3a.40","#
                + #""links":{"suites":"/v1/suites","openapi":"/openapi.json"}}"#, as: ServiceDescription.self)
        #expect(service.links.map(\.name) == ["suites", "openapi"])
        #expect(service.cursor.revision.number == 40)
    }
}
