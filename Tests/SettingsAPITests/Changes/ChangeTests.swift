import SettingsAPI
import SettingsModel
import Testing

/// `RefusedBody`: an invalid body, the pointer to the invalid part, and texts that the error contains.
struct ChangeTests {
    static let time = "\"modified\":\"2026-11-20T10:00:00.123Z\""

    @Test(
        "A change that names its suite is equal after writing and reading",
        arguments: [
            BodyCase(
                "from default to stored",
                #"{"suite":"app","key":"launchCount","old":41,"new":42,"oldSource":"default","source":"stored","#
                    + #""revision":43,\#(time)}"#),
            BodyCase(
                "removed, without a default",
                #"{"suite":"app","key":"k","old":[1,{"a":null}],"new":null,"oldSource":"stored","source":"unset","#
                    + #""revision":1,\#(time)}"#),
            BodyCase(
                "a stored null",
                #"{"suite":"app","key":"k","old":null,"new":null,"oldSource":"unset","source":"stored","#
                    + #""revision":1,\#(time)}"#),
            BodyCase(
                "a secret, for a caller that may read it",
                #"{"suite":"app","key":"k","old":"a","new":"b","oldSource":"stored","source":"stored","#
                    + #""revision":9,\#(time),"secret":true}"#),
            BodyCase(
                "a secret, for a caller that may not read it",
                #"{"suite":"app","key":"k","oldSource":"stored","source":"stored","revision":9,\#(time),"secret":true}"#
            ),
            BodyCase(
                "sources of a newer server",
                #"{"suite":"app","key":"k","old":1,"new":null,"oldSource":"inherited","source":"forwarded","#
                    + #""revision":9,\#(time)}"#),
        ])
    func changeWithSuite(body: BodyCase) throws {
        try expectRoundTrip(body.text, as: Change.self)
    }

    @Test("The form `ofOneSuite` of a change omits the suite; reading adds the suite, or refuses another suite")
    func ofOneSuite() throws {
        let text =
            #"{"key":"launchCount","old":41,"new":42,"oldSource":"default","source":"stored","revision":43,\#(Self.time)}"#
        let app = try SuiteName("app")
        let change = try Change(json: JSONValue(parsing: text), ofSuite: app)
        #expect(change.suite == app)
        #expect(change.old == 41)
        #expect(change.new == 42)
        var writer = JSONWriter()
        change.write(to: &writer, as: .ofOneSuite)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
        let changeOfApp = try JSONValue(parsing: change.jsonBytes())
        #expect(throws: BodyError.self) { try Change(json: changeOfApp, ofSuite: SuiteName("other")) }
    }

    @Test("A null is a value if the source is stored, and no value if the source is unset")
    func nullOrNone() throws {
        let text =
            #"{"suite":"app","key":"k","old":null,"new":null,"oldSource":"unset","source":"stored","revision":1,\#(Self.time)}"#
        let change = try Change(json: JSONValue(parsing: text))
        #expect(change.old == nil)
        #expect(change.new == .some(.null))
        #expect(change.stored == .some(.null))
        #expect(change.oldStored == nil)
    }

    @Test("A change that is concealed from a caller without the right to read secrets has its source, but no values")
    func concealed() throws {
        var change = try Self.change(old: "old password", new: "new password", at: 9)
        change.record.oldInvalidValue = "older password"
        let text = change.concealed().jsonText()
        #expect(!text.contains("password"))
        let read = try Change(json: JSONValue(parsing: text))
        #expect(read.isConcealed && read.isSecret)
        #expect(read == change.concealed())
        #expect(read.source == .stored)
    }

    @Test("Two changes of a key merge into a change from the first old value to the last new value")
    func mergedChanges() throws {
        let first = try Self.change(old: 1, new: 2, at: 10)
        let last = try Self.change(old: 2, new: 3, at: 12)
        let merged = last.merged(withEarlier: first)
        #expect(merged.old == 1)
        #expect(merged.new == 3)
        #expect(merged.revision.number == 12)
        var secret = first
        secret.isSecret = true
        #expect(last.merged(withEarlier: secret).isSecret)
        #expect(last.merged(withEarlier: secret.concealed()) == last.merged(withEarlier: secret).concealed())
    }

    @Test("A change has the stored value even if the schema does not allow it")
    func invalidValue() throws {
        var change = try Self.change(old: 1, new: nil, at: 10)
        change.source = .invalid
        change.record.invalidValue = 1
        #expect(change.oldStored == 1)
        #expect(change.stored == 1)
        change.source = .default
        change.new = 0
        change.record.invalidValue = nil
        #expect(change.stored == nil)
    }

    /// The member `forgotten` has the keys without a value in a dropped suite. `floor` is the revision of all other
    /// keys.
    @Test(
        "A commit is equal after writing and reading",
        arguments: [
            BodyCase("without changes", #"{"revision":1,"time":"2026-11-20T10:00:00.123Z"}"#),
            BodyCase(
                "with its origin, request and all kinds of changes of suites",
                #"{"revision":22,"time":"2026-11-20T10:00:00.123Z","by":"token:ops","note":"why","requestKey":"3f9a","#
                    + #""requestDigest":"c0ffee","suites":[{"op":"create","suite":"a"},"#
                    + #"{"op":"setSchema","suite":"a","schemaRevision":22,"schema":{"type":"object"}},"#
                    + #"{"op":"removeSchema","suite":"b"},{"op":"drop","suite":"c"},"#
                    + #"{"op":"drop","suite":"d","oldRevision":9,"forgotten":{"floor":3,"keys":["#
                    + #"{"key":"k","revision":5,"modified":"2026-11-20T09:00:00.000Z"},{"key":"l","revision":4}]}},"#
                    + #"{"op":"drop","suite":"e","forgotten":{"floor":0}}],"#
                    + #""changes":[{"suite":"a","key":"k","old":null,"oldSource":"unset","new":1},"#
                    + #"{"suite":"b","key":"k","old":null,"oldSource":"invalid","oldStored":1,"oldRevision":7,"#
                    + #""oldModified":"2026-11-20T09:00:00.000Z","new":null,"source":"invalid","stored":2},"#
                    + #"{"suite":"b","key":"s","old":"x","new":"y","secret":true}]}"#
            ),
        ])
    func commits(body: BodyCase) throws {
        let commit = try expectRoundTrip(body.text, as: Commit.self)
        for change in commit.changes {
            #expect(change.revision == commit.revision)
            #expect(change.modified == commit.time)
        }
    }

    @Test("A journal line omits the old stored values, unless the commit also has changes of suites")
    func journaled() throws {
        var commit = Commit(
            revision: try #require(Revision(9)), time: Timestamp(milliseconds: 9),
            changes: [try Self.change(old: "old", new: "new", at: 9)])
        commit.changes[0].record.oldRevision = Revision(8)
        func line() throws -> String {
            var writer = JSONWriter()
            commit.writeForJournal(to: &writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        #expect(try line().hasSuffix(#","changes":[{"suite":"app","key":"k","new":"new"}]}"#))
        #expect(try Commit(json: JSONValue(parsing: line())).changes[0].lacksOldValue)
        commit.suiteChanges = [SuiteChange(suite: try SuiteName("app"), kind: .schemaRemoved)]
        #expect(try Commit(json: JSONValue(parsing: line())) == commit)
    }

    @Test("A commit that names the source `stored`, as earlier versions did, equals a commit that omits this source")
    func earlierCommits() throws {
        func commit(_ sources: String) throws -> Commit {
            try Commit(
                json: JSONValue(
                    parsing: #"{"revision":2,"time":"2026-11-20T10:00:00.123Z","changes":["#
                        + #"{"suite":"a","key":"k","old":1,"new":2\#(sources)}]}"#))
        }
        #expect(try commit(#","oldSource":"stored","source":"stored""#) == commit(""))
        #expect(try commit(#","oldSource":"invalid""#) != commit(""))
    }

    @Test(
        "An invalid commit is refused with the pointer to the invalid member",
        arguments: [
            RefusedBody("an array instead of an object", "[]", stating: ["an object", "got an array"]),
            RefusedBody("no revision", "{}", stating: [#""revision""#]),
            RefusedBody(
                "an unknown change of a suite",
                #"{"revision":1,"time":"2026-11-20T10:00:00.123Z","suites":[{"op":"drops","suite":"a"}]}"#,
                at: "/suites/0/op", stating: [#""drops""#, "drop"], didYouMean: ["drop"]),
            RefusedBody(
                "a change without its key",
                #"{"revision":1,"time":"2026-11-20T10:00:00.123Z","changes":[{"suite":"a","old":1,"new":2,"#
                    + #""oldSource":"stored","source":"stored"}]}"#,
                at: "/changes/0", stating: [#""key""#]),
        ])
    func refusedCommits(body: RefusedBody) throws {
        try body.expectRefusal(as: Commit.self)
    }

    static func change(old: JSONValue?, new: JSONValue?, at revision: Int64) throws -> Change {
        Change(
            suite: try SuiteName("app"), key: try KeyName("k"), old: old, new: new, oldSource: .stored,
            source: .stored, revision: try #require(Revision(revision)), modified: Timestamp(milliseconds: revision))
    }
}
