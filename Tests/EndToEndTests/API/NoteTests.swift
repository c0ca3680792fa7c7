import SettingsModel
import TestSupport
import Testing

/// Notes, the reasons that clients attach to writes with the field Settings-Note. In a row, `$n` stands for the
/// revision after the n-th request. `Samples.schema`: `volume` (at most 1, default 0.5). A target such as `app/keys/a`
/// is relative to `/v1/suites/`.
@Suite(.ownThread)
struct NoteTests {
    static let putWithNote = Request("PUT app/keys/a 1", "Settings-Note: louder, für alle")
    static let longestNote = String(repeating: "n", count: 256)

    private static func withNote(_ note: String, _ request: Request) -> Request {
        var request = request
        request.fields.append("Settings-Note: \(note)")
        return request
    }

    static let rows: [Row] = [
        Row("The answer to a write", putWithNote, 201, body: #"{"note":"louder, für alle","value":1}"#, lacks: ["by"]),
        Row(
            "A setting", given: [putWithNote], "GET app/keys/a", 200, body: #"{"note":"louder, für alle"}"#,
            lacks: ["by"]),
        Row(
            "A listed key", given: [putWithNote], "GET app/keys", 200,
            body: #"{"keys":[{"key":"a","note":"louder, für alle"}]}"#),
        Row(
            "A change", given: ["PUT app/keys/a 0", putWithNote], "GET app/observe?since=$1", 200,
            body: #"{"changes":[{"key":"a","new":1,"note":"louder, für alle"}]}"#),
        Row(
            "Changes of several keys", given: ["PUT app/keys/a 0"],
            Request(#"PATCH app {"a":1,"b":2}"#, "Settings-Note: both"), 200,
            body: #"{"changes":[{"key":"a","note":"both"},{"key":"b","note":"both"}]}"#),
        Row(
            "A default of a schema with a note", given: [withNote("begin", Samples.schema)], "GET app/keys/volume", 200,
            body: #"{"source":"default","note":"begin"}"#),
        Row(
            "A write that changes nothing", given: [putWithNote], Request("PUT app/keys/a 1", "Settings-Note: again"),
            200, body: #"{"changed":false,"note":"louder, für alle"}"#),
        Row(
            "A dry run", given: [putWithNote], Request(#"PATCH app?dryRun {"a":2}"#, "Settings-Note: try"), 200,
            body: #"{"changes":[{"note":"try"}]}"#, then: [("GET app/keys/a", #"{"note":"louder, für alle"}"#)]),
        Row(
            "A later write without a note", given: [putWithNote, "PUT app/keys/a 2"], "GET app/keys/a", 200,
            lacks: ["note"]),
        Row(
            "A setting at a past revision", given: [putWithNote, Request("PUT app/keys/a 2", "Settings-Note: softer")],
            "GET app/keys?at=$1", 200, body: #"{"keys":[{"value":1,"note":"louder, für alle"}]}"#),
        Row(
            "A repeat", given: [Request("PUT app/keys/a 1", "Idempotency-Key: k", "Settings-Note: first")],
            Request("PUT app/keys/a 1", "Idempotency-Key: k", "Settings-Note: second"), 201,
            body: #"{"replayed":true,"note":"first"}"#),
        Row(
            "The longest note", Request("PUT app/keys/a 1", "Settings-Note: \(longestNote)"), 201,
            body: #"{"note":"\#(longestNote)"}"#),
        Row("An empty note", Request("PUT app/keys/a 1", "Settings-Note: "), 201, lacks: ["note"]),
        Row("A note over the limit", Request("PUT app/keys/a 1", "Settings-Note: n\(longestNote)"), 400, .badRequest),
        Row("A note with a tab", Request("PUT app/keys/a 1", "Settings-Note: a\tb"), 400, .badRequest),
        Row("Two notes", Request("PUT app/keys/a 1", "Settings-Note: a", "Settings-Note: b"), 400, .badRequest),
    ]

    @Test(
        "A note is stored with its commit and shown in answers, listings and history; a malformed note is refused",
        arguments: rows)
    func note(row: Row) throws {
        try row.check()
    }

    @Test("A note survives two restarts")
    func restarts() throws {
        let directory = try TemporaryDirectory()
        var daemon = try TestDaemon(in: directory)
        try daemon.sendOK(Self.putWithNote)
        // A stop writes a snapshot, from which the next start reads the note.
        for _ in 1...2 {
            daemon.stop()
            daemon = try TestDaemon(in: directory)
            #expect(try daemon.sendOK("GET app/keys/a").text.contains(#""note":"louder, für alle""#))
            #expect(try daemon.sendOK("GET app/observe?since=0").text.contains(#""note":"louder, für alle""#))
        }
    }
}
