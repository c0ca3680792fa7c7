import SettingsAPI
import SettingsModel
import Testing

/// `RefusedBody`: an invalid body, the pointer to the invalid part, and texts that the error contains.
struct ObservationTests {
    static let time = #""modified":"2026-11-20T10:00:00.123Z""#
    static let change =
        #""key":"launchCount","old":41,"new":42,"oldSource":"default","source":"stored","revision":43,\#(time)"#
    static let invalid = #"{"k":{"stored":1,"errors":[]}}"#

    static let states = [
        BodyCase(
            "one suite",
            #"{"suite":"app","revision":40,"cursor":"7f3a.40","schemaRevision":3,"values":{"a":1},"changes":[]}"#),
        BodyCase(
            "a reset, with every optional member",
            #"{"suite":"app","revision":40,"cursor":"7f3a.40","schemaRevision":3,"values":{"a":1},"#
                + #""invalid":\#(invalid),"secrets":["s"],"reset":true,"changes":[]}"#),
        BodyCase(
            "several suites",
            #"{"revision":40,"cursor":"7f3a.40","schemaRevision":{"a":3,"b":0},"values":{"a":{"k":1},"b":{}},"#
                + #""invalid":{"b":\#(invalid)},"secrets":{"a":["s"]},"missing":["c"],"changes":[]}"#),
        BodyCase(
            "several suites, none of which exists",
            #"{"revision":40,"cursor":"7f3a.40","schemaRevision":{},"values":{},"missing":["a","b"],"reset":true,"#
                + #""changes":[]}"#),
    ]

    static let changes = [
        BodyCase(
            "one change",
            #"{"suite":"app","revision":43,"cursor":"7f3a.43","schemaRevision":3,"changes":[{\#(change)}]}"#),
        BodyCase("no changes", #"{"suite":"app","revision":43,"cursor":"7f3a.43","schemaRevision":3,"changes":[]}"#),
        BodyCase(
            "every optional member",
            #"{"suite":"app","revision":43,"cursor":"7f3a.43","schemaRevision":0,"dropped":true,"#
                + #""changes":[{\#(change)}],"more":true,"retryAfterMs":250}"#),
        BodyCase(
            "several suites",
            #"{"revision":43,"cursor":"7f3a.43","schemaRevision":{"a":3},"dropped":["b"],"missing":["b","c"],"#
                + #""changes":[{"suite":"a",\#(change)}],"more":true}"#),
    ]

    @Test("A state is equal after writing and reading", arguments: states)
    func stateReadsBack(body: BodyCase) throws {
        let state = try expectRoundTrip(body.text, as: ObservedState.self)
        #expect(try expectRoundTrip(body.text, as: SettingsObservation.self) == .state(state))
        #expect(SettingsObservation.state(state).cursor == state.cursor)
    }

    @Test("Changes are equal after writing and reading", arguments: changes)
    func changesReadBack(body: BodyCase) throws {
        let changes = try expectRoundTrip(body.text, as: ObservedChanges.self)
        #expect(try expectRoundTrip(body.text, as: SettingsObservation.self) == .changes(changes))
        #expect(SettingsObservation.changes(changes).cursor == changes.cursor)
    }

    @Test("Each change in an answer for one suite has the suite of the answer")
    func suiteOfChanges() throws {
        let body = try #require(Self.changes.first)
        let answer = try ObservedChanges(json: JSONValue(parsing: body.text))
        #expect(answer.changes.map(\.suite.text) == ["app"])
        #expect(answer.cursor == Cursor("7f3a.43"))
        #expect(!answer.hasMore)
    }

    @Test("In the state of several suites, each suite has its own contents")
    func severalSuites() throws {
        // The element `several suites` of `states`.
        let state = try ObservedState(json: JSONValue(parsing: Self.states[2].text))
        #expect(state.suites.map(\.suite.text) == ["a", "b"])
        #expect(state.suites.map(\.schemaRevision.number) == [3, 0])
        #expect(state.suites.map(\.values.count) == [1, 0])
        #expect(state.suites.map(\.invalid.count) == [0, 1])
        #expect(state.suites.map(\.secrets.count) == [1, 0])
    }

    @Test(
        "An invalid answer is refused with the pointer to the invalid member",
        arguments: [
            RefusedBody(
                "no cursor", #"{"suite":"a","schemaRevision":0,"changes":[]}"#, stating: [#""cursor""#]),
            RefusedBody(
                "a change without its suite", #"{"cursor":"a.1","changes":[{\#(change)}]}"#,
                at: "/changes/0", stating: [#""suite""#]),
            RefusedBody(
                "a change of another suite",
                #"{"suite":"a","schemaRevision":0,"cursor":"a.1","changes":[{"suite":"b",\#(change)}]}"#,
                at: "/changes/0/suite", stating: ["a"]),
            RefusedBody(
                "a secret key that is not a string", #"{"cursor":"a.1","values":{"a":{}},"secrets":{"a":[1]}}"#,
                at: "/secrets/a/0", stating: ["a string", "got an integer"]),
            RefusedBody(
                "an invalid key without its violations", #"{"cursor":"a.1","values":{"a":{}},"invalid":{"a":{"k":1}}}"#,
                at: "/invalid/a/k", stating: ["an object", "got an integer"]),
        ])
    func refused(body: RefusedBody) throws {
        try body.expectRefusal(as: SettingsObservation.self)
    }

    @Test(
        "A state event has the name state or reset, and its data is equal after writing and reading", arguments: states)
    func stateEvents(body: BodyCase) throws {
        let state = try ObservedState(json: JSONValue(parsing: body.text))
        let event = StreamEvent.state(state)
        #expect(event.name == (state.isReset ? "reset" : "state"))
        #expect(event.jsonText() == body.text)
        #expect(try StreamEvent(name: event.name, data: JSONValue(parsing: event.jsonBytes()), ofSuite: nil) == event)
        #expect(event.cursor == state.cursor)
    }

    @Test(
        "A commit event is equal after writing and reading",
        arguments: [
            (BodyCase("one suite", #"{"revision":43,"cursor":"7f3a.43","changes":[{\#(change)}]}"#), "app"),
            (BodyCase("a schema", #"{"revision":43,"cursor":"7f3a.43","schemaRevision":43,"changes":[]}"#), "app"),
            (BodyCase("a drop", #"{"revision":43,"cursor":"7f3a.43","dropped":true,"changes":[{\#(change)}]}"#), "app"),
            (
                BodyCase(
                    "several suites",
                    #"{"revision":43,"cursor":"7f3a.43","schemaRevision":{"a":43},"dropped":["b"],"#
                        + #""changes":[{"suite":"b",\#(change)}]}"#), nil
            ),
        ] as [(BodyCase, String?)])
    func commitEvents(body: BodyCase, suite: String?) throws {
        let suite = try suite.map { try SuiteName($0) }
        let data = try JSONValue(parsing: body.text)
        let event = try #require(try StreamEvent(name: "commit", data: data, ofSuite: suite))
        #expect(event.name == "commit")
        #expect(event.jsonText() == body.text)
        #expect(try StreamEvent(name: "commit", data: JSONValue(parsing: event.jsonBytes()), ofSuite: suite) == event)
    }

    @Test("A state and a commit event made from values are equal after writing and reading")
    func fromValues() throws {
        let (app, key, cursor) = (try SuiteName("app"), try KeyName("k"), try #require(Cursor("7f3a.43")))
        let contents = SuiteContents(
            suite: app, schemaRevision: .zero, values: [SuiteContents.Entry(key: key, value: 1)])
        let state = ObservedState(.several([contents], missing: []), cursor: cursor)
        #expect(
            state.jsonText() == #"{"revision":43,"cursor":"7f3a.43","schemaRevision":{"app":0},"#
                + #""values":{"app":{"k":1}},"changes":[]}"#)
        #expect(try ObservedState(json: JSONValue(parsing: state.jsonBytes())) == state)

        let change = Change(
            suite: app, key: key, old: nil, new: 1, oldSource: .unset, source: .stored, revision: cursor.revision,
            modified: Timestamp(milliseconds: 0))
        let commit = StreamCommit(.one(schemaRevision: nil, isDropped: false), cursor: cursor, changes: [change])
        let event = StreamEvent.commit(commit)
        #expect(event.cursor == cursor)
        #expect(try StreamEvent(name: "commit", data: JSONValue(parsing: event.jsonBytes()), ofSuite: app) == event)
    }

    @Test("Reading an event with an unknown name returns nil")
    func unknownEvent() throws {
        #expect(try StreamEvent(name: "heartbeat", data: 1, ofSuite: nil) == nil)
    }
}
