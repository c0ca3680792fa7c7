import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Whatever could be stored is there again after a restart, clean or not, and so is what can be asked about the past.
@Suite(.ownThread)
struct KeptTests {
    /// Values and names of every sort, some at their limits.
    static let story: [Request] = [
        Request("PUT deep/keys/a \(nested(128))"), Request("PUT deep/keys/b \(nested(128))"),
        Request("PUT deep/keys/a \(nested(127))"),
        Request(#"PUT deep/schema?onConflict=keep {"additionalProperties":false,"x-deep":\#(nested(127))}"#),
        Request(#"PUT deep/schema?onConflict=keep {"additionalProperties":false,"x-deeper":\#(nested(127))}"#),
        #"PATCH app {"count":10,"volume":-0.0}"#, Samples.schema, "PUT app/keys/volume 5e-324", "DELETE app/keys/count",
        Samples.narrow,
        Request(
            "PUT odd {\"é\":[1.0,1],\"e\u{301}\":{\"b\":1,\"a\":2},\"a/b%2F+\":9007199254740993,\"z\":\"\\u0000\"}"),
        Request("PUT odd/keys/\(String(repeating: "k", count: 256)) 9223372036854775807"),
        Request("PUT \(String(repeating: "s", count: 128))/keys/x null"),
        Request(#"PUT app/keys/volume 0.25"#, "Idempotency-Key: ~ !\""), "PUT gone/keys/a 1", "DELETE gone?drop",
        "PUT back/keys/a 1", "DELETE back?drop", "PUT back/keys/b 2",
        "PUT back/schema?onConflict=keep {\r\n \"additionalProperties\": {\"maximum\": 1e2}\n}\n",
    ]

    static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// All that can be read now, and of each suite at each moment.
    private func everything(_ daemon: TestDaemon, upTo newest: Int64) throws -> String {
        var text = try daemon.world()
        for suite in ["deep", "app", "odd", "gone", "back"] {
            for moment in 0...newest {
                text += try daemon.send(Request("GET \(suite)?at=\(moment)")).text
                text += try daemon.send(Request("GET \(suite)/keys?at=\(moment)")).text
            }
        }
        return text
    }

    @Test(
        "What was stored is there after a restart, after the machine went down, and after both"
    )
    func restart() throws {
        let directory = try TemporaryDirectory()
        let first = try TestDaemon(ofItsOwnIn: directory)
        var newest: Int64 = 0
        for request in Self.story { newest = try first.done(request).revision?.number ?? 0 }
        let before = try everything(first, upTo: newest)

        try first.kill()
        let crashed = try TestDaemon(in: directory)
        #expect(try everything(crashed, upTo: newest) == before)
        crashed.stop()
        let again = try TestDaemon(in: directory)
        #expect(try everything(again, upTo: newest) == before)
        try again.done("PUT app/keys/volume 7")
        again.stop()
        let last = try TestDaemon(in: directory)
        #expect(try last.send("GET app/keys/volume?raw").text == "7")

        let repeated = Request(#"PUT app/keys/volume 0.25"#, "Idempotency-Key: ~ !\"")
        let answer = try last.send(repeated)
        #expect(answer.json?["replayed"] == true, "\(answer.text)")
        let guarded = try last.send(Request("PUT gone/keys/a 1", "If-Match: \"0\""))
        #expect(guarded.status == 412)
    }
}
