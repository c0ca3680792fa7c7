import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// "Read a suite" in docs/http-api.md: suites at an earlier revision. In a row, `$n` stands for the revision after the
/// n-th request, `"*"` for any value, and `"*a*b*"` for a text with `a` and then `b`. The caller `all` of
/// `ProtectedDaemon` has every right. `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer),
/// `fixed` (locked, default 1), `isOn` (default false), `name` (at most 3 characters). `Samples.narrowSchema` allows
/// only `volume` and `count` up to 10, and keeps invalid values. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct HistoryTests {
    /// The writes before most reads of past states. They have the revisions `$1` to `$8`.
    static let writes: [Request] = [
        "PUT app/keys/count 3", Samples.schema, "PUT app/keys/volume 1", "PUT b/keys/x 1", Samples.narrowSchema,
        "DELETE app/keys/count", "DELETE app?drop", #"PUT app {"new":true}"#,
    ]

    static let rows: [Row] = [
        Row(
            "The suite after its first commit", given: writes, "GET app?at=$1", 200,
            body: #"{"revision":$1,"schemaRevision":0,"values":{"count":3}}"#, fields: ["ETag: \"$1\""]),
        Row(
            "The suite after its first schema", given: writes, "GET app?at=$2", 200,
            body: #"{"revision":$2,"schemaRevision":$2,"values":{"count":3,"fixed":1,"isOn":false,"volume":0.5}}"#),
        Row(
            "The suite after a write", given: writes, "GET app?at=$3&view=stored", 200,
            body: #"{"revision":$3,"schemaRevision":$2,"values":{"count":3,"volume":1}}"#),
        Row(
            "The suite after a commit of another suite", given: writes, "GET app?at=$4", 200,
            body: #"{"revision":$3,"values":{"volume":1}}"#),
        Row(
            "The suite after another schema", given: writes, "GET app?at=$5", 200,
            body: #"{"revision":$5,"schemaRevision":$5,"values":{"count":3,"volume":1}}"#),
        Row(
            "The suite after a removal", given: writes, "GET app?at=$6", 200,
            body: #"{"revision":$6,"values":{"volume":1}}"#),
        Row("The suite after its drop", given: writes, "GET app?at=$7", 404, .unknownSuite, lacks: ["didYouMean"]),
        Row("The suite at the current revision", given: writes, "GET app?at=$8&raw", 200, text: #"{"new":true}"#),
        Row("The suite before its creation", given: writes, "GET app?at=0", 404, .unknownSuite, lacks: ["didYouMean"]),
        Row(
            "Another suite before its creation", given: writes, "GET b?at=$2", 404, .unknownSuite,
            body: #"{"detail":"*suite b*revision $2*revision $4*"}"#),
        Row(
            "A dropped suite before its new creation", given: writes, "GET app/keys?at=$7", 404, .unknownSuite,
            body: #"{"detail":"*suite app*revision $7*revision $8*"}"#),
        Row(
            "Past defaults", given: writes, "GET app?at=$3&view=default&raw", 200,
            text: #"{"fixed":1,"isOn":false,"volume":0.5}"#),
        Row("Past values with a prefix", given: writes, "GET app?at=$3&prefix=c&raw", 200, text: #"{"count":3}"#),
        Row(
            "Past keys", given: writes, "GET app/keys?at=$3&prefix=v", 200,
            body: #"{"revision":$3,"keys":[{"key":"volume","value":1,"source":"stored","revision":$3,"modified":"*","#
                + #""schema":{"type":"number","maximum":1,"default":0.5}}]}"#),
        Row(
            "Past keys with an invalid value",
            given: ["PUT app/keys/count 11", Samples.narrowSchema, "PUT app/keys/count 1"],
            "GET app/keys?at=$2&prefix=c", 200,
            body: #"{"keys":[{"key":"count","source":"invalid","stored":11,"errors":["*"],"revision":$2}]}"#),
        Row(
            "A page of past keys", given: writes, "GET app/keys?at=$3&limit=1&after=count", 200,
            body: #"{"keys":[{"key":"fixed"}],"next":"fixed"}"#),
        Row(
            "The suite after the removal of its schema",
            given: [Samples.schema, "DELETE app/schema", "PUT app/keys/a 1", Samples.narrowSchema], "GET app?at=$3",
            200, body: #"{"revision":$3,"schemaRevision":$2,"values":{"a":1}}"#),
        Row(
            "A suite without values after the removal of its schema",
            given: [Samples.schema, "DELETE app/schema", "DELETE app?drop"],
            "GET app?at=$2", 200, body: #"{"revision":$2,"schemaRevision":$2,"values":{}}"#),
        Row(
            "The tag of the past suite in If-None-Match", given: writes,
            Request("GET app?at=$3", "If-None-Match: \"$3\""), 304),
        Row("A future revision", given: ["PUT app/keys/a 1"], "GET app?at=999", 400, .badRequest),
        Row("Keys at a future revision", given: ["PUT app/keys/a 1"], "GET app/keys?at=999", 400, .badRequest),
        // With one commit in memory, the daemon can undo only the last commit, so `$2` is the oldest readable revision.
        Row(
            "A revision that is not retained", given: ["PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3"],
            "GET app?at=$1", 410, .historyGone, body: #"{"oldest":$2}"#
        ) { $0.history.commits = 1 },
        Row(
            "Keys at a revision that is not retained",
            given: ["PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3"],
            "GET app/keys?at=0", 410, .historyGone, body: #"{"oldest":$1}"#
        ) { $0.history.commits = 2 },
        Row(
            "The oldest retained revision", given: ["PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3"],
            "GET app?at=$2&raw", 200, text: #"{"a":2}"#
        ) { $0.history.commits = 1 },
        // The four retained commits are the last two commits of each suite.
        Row(
            "A retained revision of a suite while another suite changes",
            given: ["PUT app/keys/a 1", "PUT app/keys/a 2"] + (1...9).map { Request("PUT b/keys/x \($0)") },
            "GET app?at=$1&raw", 200, text: #"{"a":1}"#
        ) {
            $0.history.commits = 4
            $0.history.suiteCommits = 2
        },
        Row(
            "An evicted revision of the suite that changes",
            given: ["PUT app/keys/a 1", "PUT app/keys/a 2"] + (1...9).map { Request("PUT b/keys/x \($0)") },
            "GET b?at=$8", 410, .historyGone, body: #"{"oldest":$9}"#
        ) {
            $0.history.commits = 4
            $0.history.suiteCommits = 2
        },
    ]

    /// Requests that leave a suite with keys that have a revision but no value.
    static let writesOfUnsetKeys: [[Request]] = [
        [Samples.schema, "PUT app/keys/count 3", "PUT app/keys/name \"a\"", "DELETE app/keys/count"],
        ["PUT app/keys/count 3", "DELETE app/keys/count", "PUT app/keys/name \"a\"", Samples.schema],
        ["PUT app/keys/count 3", "DELETE app?drop", Samples.schema, "PUT app/keys/volume 1", "DELETE app/keys/volume"],
        [Samples.schema, "PUT app/keys/count 3", Samples.narrowSchema, "DELETE app/keys/count", Samples.schema],
        ["PUT app/keys/count 3", "DELETE app/keys/count"],
    ]

    @Test("A caller with limited rights can read history while another client sends a body")
    func besideBody() throws {
        let protected = try ProtectedDaemon(["one": ["app:read"]], given: ["PUT app/keys/a 1"])
        var upload = protected.authorized("PUT app/keys/b", as: "all")
        upload.fields.append("Content-Length: 200000")
        // The memory that the body uses must not delay the answer.
        let sender = try protected.daemon.connect()
        try sender.send(upload.bytes + [UInt8](repeating: UInt8(ascii: " "), count: 100_000))
        // The metric shows that the daemon has received a part of the body.
        try eventually {
            let line = try protected.send("GET /metrics", as: "all").text.split(separator: "\n").first {
                $0.hasPrefix("settingsd_buffer_bytes ")
            }
            return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0 > 50_000
        }
        #expect(try protected.send("GET app/history", as: "one").status == 200)
        withExtendedLifetime(sender) {}
    }

    @Test(
        "A dropped suite is readable at an old revision, with the revisions of keys without a value",
        arguments: writesOfUnsetKeys.indices)
    func unset(index: Int) throws {
        let directory = try TemporaryDirectory()
        var daemon = try TestDaemon(in: directory)
        var revision = ""
        for request in Self.writesOfUnsetKeys[index] {
            revision = try daemon.sendOK(request).revision?.description ?? ""
        }
        let keys = try daemon.sendOK("GET app/keys").text
        let suite = try daemon.sendOK("GET app").text
        for request: Request in ["DELETE app?drop", "PUT app/keys/count 4", "DELETE app/keys/count"] {
            try daemon.sendOK(request)
            #expect(try daemon.sendOK(Request("GET app/keys?at=\(revision)")).text == keys)
            #expect(try daemon.sendOK(Request("GET app?at=\(revision)")).text == suite)
        }
        daemon.stop()
        daemon = try TestDaemon(in: directory)
        #expect(try daemon.sendOK(Request("GET app/keys?at=\(revision)")).text == keys)
    }

    @Test(
        "GET with `at` returns the suite at that revision, or an error if the daemon has no state at that revision",
        arguments: rows)
    func past(row: Row) throws {
        try row.check()
    }
}
