import HTTPWire
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Section 4 of the contract: what a daemon with little room answers.
@Suite(.ownThread)
struct LimitTests {
    static func full(_ configuration: inout Configuration) {
        configuration.writes.waitingBytes = 16
    }

    static func short(_ configuration: inout Configuration) {
        configuration.transport.request = MessageLimits(
            maximumTargetLength: 64, maximumHeadLength: 256, maximumFieldCount: 4, maximumBodyLength: 8)
    }

    static let told = #"{"outcome":"not_done","retryAfterMs":"*"}"#

    static let rows: [Row] = [
        Row(
            "A value that does not wait", "PUT app/keys/a 1", 503, .overloaded, told, fields: ["Retry-After: 1"],
            adapt: full),
        Row("A map that does not wait", #"PATCH app {"a":1}"#, 503, .overloaded, told, adapt: full),
        Row("A schema that does not wait", Samples.schema, 503, .overloaded, told, adapt: full),
        Row(
            "A transaction that does not wait", #"POST /v1/transaction {"do":[]}"#, 503, .overloaded, told, adapt: full),
        Row("Reads go on", "GET /v1/suites", 200, adapt: full),
        Row("A body over its limit", "PUT app/keys/a 123456789", 413, .tooLarge, #"{"limit":8}"#, adapt: short),
        Row("A body at its limit", "PUT app/keys/a 12345678", 201, adapt: short),
        Row(
            "A body in chunks over its limit",
            Request("PUT app/keys/a 9\r\n123456789\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 413, .tooLarge,
            #"{"limit":8}"#, adapt: short),
        Row(
            "A body in chunks at its limit",
            Request("PUT app/keys/a 4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 201, nil,
            #"{"value":12345678}"#, adapt: short),
        Row(
            "A target over its limit", Request("GET /v1?\(String(repeating: "a", count: 64))"), 414, .tooLarge,
            #"{"limit":64}"#, adapt: short),
        Row(
            "A head over its limit", Request("GET /v1", "A: \(String(repeating: "a", count: 256))"), 431, .tooLarge,
            #"{"limit":256}"#, adapt: short),
        Row(
            "Too many fields", Request("GET /v1", "A: 1", "B: 1", "C: 1", "D: 1"), 431, .tooLarge, #"{"limit":4}"#,
            adapt: short),
    ]

    @Test("What is over a limit is told so, with the limit", arguments: rows)
    func limits(row: Row) throws {
        try row.check()
    }

    @Test(
        "A request that does not come in time is told so",
        arguments: [
            "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: loc",
            "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1",
        ])
    func timeout(start: String) throws {
        let daemon = try TestDaemon {
            $0.transport.headTime = TransportLimits.second / 50
            $0.transport.bodyTime = TransportLimits.second / 50
        }
        let peer = try daemon.connect()
        try peer.send(Array(start.utf8))
        let answer = try peer.readResponse()
        #expect(answer.status == 408)
        #expect(answer.json?["code"] == "timeout")
    }

    @Test("A connection beyond the limit is told so, and when to come again")
    func connections() throws {
        let daemon = try TestDaemon { $0.transport.connections = 1 }
        let first = try daemon.connect()
        try first.send(Request("GET /healthz").bytes)
        #expect(try first.readResponse().status == 200)
        let second = try daemon.connect()
        let answer = try second.readResponse()
        #expect(answer.status == 429)
        #expect(answer.json?["code"] == "too_many_connections")
        #expect(answer.field("Retry-After") == "1")
        #expect(answer.revision != nil)
        try first.send(Request("GET /healthz").bytes)
        #expect(try first.readResponse().status == 200)
    }
}
