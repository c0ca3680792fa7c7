import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Requests that a client sends on one connection without waiting for answers take effect in their order.
@Suite(.ownThread)
struct PipelinedOrderTests {
    /// Sends the requests in one write, after the answers to `preceding`, and returns their answers.
    private func answers(_ requests: [Request], after preceding: [Request] = []) throws -> [RawResponse] {
        let daemon = try TestDaemon()
        let peer = try daemon.connect()
        for request in preceding { _ = try peer.ask(request) }
        try peer.send(requests.flatMap(\.bytes))
        return try requests.map { _ in try peer.readResponse() }
    }

    private static let schemaWithLock: Request = """
        PUT app/schema {"type":"object","additionalProperties":false,\
        "properties":{"a":{"type":"integer","readOnly":true}}}
        """

    @Test("After a request of a connection removes the lock of a key, the next requests can write the key")
    func lifted() throws {
        let answers = try answers(["DELETE app/schema", "PUT app/keys/a 1"], after: [Self.schemaWithLock])
        #expect(answers.map(\.status) == [200, 201])
    }

    @Test("After a request of a connection locks a key, the next writes of the key are refused")
    func locked() throws {
        let answers = try answers([Self.schemaWithLock, "PUT app/keys/a 1"])
        #expect(answers.map(\.status) == [201, 403])
    }

    @Test("A value is normalized with the schema that an earlier request of its connection has set")
    func normalized() throws {
        let setSchema = { (type: String) in
            Request(#"PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"\#(type)"}}}"#)
        }
        let answers = try answers(
            [
                setSchema("number"), "PUT app/keys/a 1.0", "DELETE app/keys/a",
                setSchema("integer"), "PUT app/keys/a 2.0",
            ],
            after: [setSchema("integer")])
        #expect(answers.map(\.status) == [200, 201, 200, 200, 201])
        // The answers to the two PUT requests of `a`.
        let values = [1, 4].map { answers[$0].json?["value"] }
        #expect(values == [1.0, 2])
    }

    /// Sends a read of `target`, which must wait, and then writes of `b` and `a` on the same connection, while the read
    /// waits. `TAG` in a field stands for the current tag. The request omits an empty field.
    private func sendWritesBehindRead(
        _ target: String, _ fields: String..., body: (TestDaemon, RawClient, _ tag: String) throws -> Void
    ) throws {
        let daemon = try TestDaemon()
        let revision = try #require(try daemon.sendOK("PUT app/keys/a 1").revision)
        var read = Request("GET \(target)")
        read.fields = fields.map { $0.replacing("TAG", with: "\"\(revision)\"") }
        let peer = try daemon.connect()
        try peer.send(read.bytes + Request("PUT app/keys/b 2").bytes + Request("PUT app/keys/a 2").bytes)
        try daemon.awaitWatchers(1)
        try body(daemon, peer, "\"\(revision)\"")
        try daemon.awaitWatchers(0)
    }

    @Test("A write pipelined behind a waiting read takes effect after the read is answered")
    func behindWait() throws {
        try sendWritesBehindRead("app/keys/a?wait=300", "If-None-Match: TAG") { daemon, peer, _ in
            #expect(try daemon.send("GET app/keys/b").status == 404)
            try daemon.sendOK("PUT app/keys/a 7")
            #expect(try peer.readResponse().json?["value"] == 7)
            #expect(try peer.readResponse().status == 201)
            #expect(try peer.readResponse().json?["previous"]?["value"] == 7)
        }
    }

    /// The suite `zz` does not exist. A long poll gets 200 if nothing has changed, and a read with a tag gets 304.
    @Test(
        "A write pipelined behind a waiting read takes effect when the client ends sending and the read is answered",
        arguments: [("app?wait=300", 304), ("app/observe?since=1&wait=300", 200), ("zz/observe?wait=300", 404)])
    func behindWaitHalfClosed(target: String, status: Int) throws {
        try sendWritesBehindRead(target, target.contains("observe") ? "" : "If-None-Match: TAG") { daemon, peer, tag in
            peer.endSending()
            let read = try peer.readResponse()
            #expect(read.status == status)
            #expect(read.field("ETag") == (status == 304 ? tag : nil))
            let write = try peer.readResponse()
            #expect(write.status == 201)
            #expect(try #require(write.revision) > #require(read.revision))
            #expect(try peer.readResponse().status == 200)
            #expect(try peer.readUntilClose().isEmpty)
        }
    }

    @Test("A write pipelined behind a waiting read has no effect if the client resets the connection")
    func behindWaitReset() throws {
        try sendWritesBehindRead("app/keys/a?wait=300", "If-None-Match: TAG") { daemon, peer, _ in
            peer.reset()
            try daemon.awaitWatchers(0)
            #expect(try daemon.send("GET app/keys/b").status == 404)
        }
    }

    @Test("The daemon reads a bounded amount of data behind a waiting request")
    func bounded() throws {
        try sendWritesBehindRead("app/keys/a?wait=300", "If-None-Match: TAG") { daemon, peer, _ in
            let request = Request("PUT app/keys/c \"\(String(repeating: "x", count: 10_000))\"").bytes
            var count = 0
            // If the daemon read without a bound, the kernel would accept all data.
            while peer.sendWithoutWaiting(request) == request.count {
                count += 1
                try #require(count < 10_000)
            }
            try daemon.sendOK("PUT app/keys/a 7")
            #expect(try peer.readResponse().json?["value"] == 7)
            // The answers to the writes of `b` and `a`, and to `count` writes of `c`.
            for _ in 0..<(count + 2) { #expect(try peer.readResponse().status < 300) }
        }
    }

    @Test(
        "The cursor of an error, or of OPTIONS, includes earlier writes of the connection and no later writes",
        arguments: [
            "PUT app/keys/a {", "GET app/keys/a?raw=maybe", "GET /v1/nowhere", "PUT /v1/healthz 1",
            "OPTIONS app/keys/a",
            "PUT .app/keys/a 1",
        ] as [Request])
    func cursors(request: Request) throws {
        let answers = try answers(["PUT app/keys/a 1", request, "PUT app/keys/a 2"])
        let revisions = answers.map { $0.field("Settings-Cursor").flatMap { Cursor($0) }?.revision ?? .zero }
        #expect(revisions[0] > .zero)
        #expect(revisions[1] == revisions[0], "\(answers[1].status)")
        #expect(revisions[2] > revisions[1])
    }
}
