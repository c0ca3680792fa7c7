import SettingsModel
import Testing

@testable import SettingsCluster

/// The encoding of calls as JSON, which etcd's HTTP gateway accepts, and the decoding of its answers.
@Suite
struct EtcdCallTests {
    private func jsonText(_ write: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        write(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test(
        "Base64 is written with padding, and decodes to the same bytes",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("\u{FF}?>", "w78/Pg=="),
        ])
    func base64(_ text: String, _ encoded: String) {
        #expect(String(decoding: Base64.encode(Array(text.utf8)), as: UTF8.self) == encoded)
        #expect(Base64.decode(encoded) == Array(text.utf8))
    }

    @Test(
        "Text that is not Base64 is refused",
        arguments: ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "Z===", "=", "Zm 9v", "Zm9v\n"])
    func notBase64(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("A transaction is encoded as the gateway expects")
    func transaction() {
        // A condition without a value requires that the key does not exist.
        let transaction = EtcdTransaction(
            conditions: [
                EtcdTransaction.Condition(key: "head", value: Array("1".utf8)), EtcdTransaction.Condition(key: "claim"),
            ],
            success: [.put("k", Array("v".utf8)), .put("l", [], lease: 77), .delete("a"), .delete("a", to: "b")],
            failure: [
                .range(EtcdRange(key: "k")), .range(EtcdRange(key: "a", end: "b", limit: 16)),
                .range(EtcdRange(key: "a", end: "b", omitsValues: true)),
                .range(EtcdRange(key: "a", end: "b", writtenAfter: 7)),
            ])
        let expected =
            #"{"compare":[{"key":"aGVhZA==","result":"EQUAL","target":"VALUE","value":"MQ=="},"#
            + #"{"key":"Y2xhaW0=","result":"EQUAL","target":"CREATE","create_revision":"0"}],"#
            + #""success":[{"request_put":{"key":"aw==","value":"dg=="}},"#
            + #"{"request_put":{"key":"bA==","value":"","lease":"77"}},"#
            + #"{"request_delete_range":{"key":"YQ=="}},{"request_delete_range":{"key":"YQ==","range_end":"Yg=="}}],"#
            + #""failure":[{"request_range":{"key":"aw=="}},"#
            + #"{"request_range":{"key":"YQ==","range_end":"Yg==","limit":"16"}},"#
            + #"{"request_range":{"key":"YQ==","range_end":"Yg==","keys_only":true}},"#
            + #"{"request_range":{"key":"YQ==","range_end":"Yg==","min_mod_revision":"8"}}]}"#
        #expect(jsonText(transaction.write) == expected)
    }

    @Test("A lease, an authentication, a search for the leader and a watch are encoded as the gateway expects")
    func others() {
        #expect(jsonText(EtcdLeaseGrant(seconds: 2).write) == #"{"TTL":"2"}"#)
        #expect(jsonText(EtcdAuthentication(name: "n", password: "p\"").write) == #"{"name":"n","password":"p\""}"#)
        #expect(jsonText(EtcdLeadership().write) == "{}")
        #expect(
            jsonText(EtcdWatchRequest(key: "a", end: "b", revision: 5).write)
                == #"{"create_request":{"key":"YQ==","range_end":"Yg==","start_revision":"5"}}"#)
    }

    private let readOfTwoKeys = EtcdTransaction(success: [.range(EtcdRange(key: "a")), .range(EtcdRange(key: "b"))])

    @Test("An answer that omits members with empty values is decoded")
    func answer() throws {
        let json = try JSONValue(
            parsing: #"""
                {"header":{"cluster_id":"14841639068965178418","member_id":"1","revision":"9","raft_term":"2"},"succeeded":true,
                "responses":[{"response_range":{"header":{"revision":"9"},"kvs":[{"key":"YQ==","create_revision":"2",
                "mod_revision":"2","version":"1","value":"dg=="},{"key":"YQ=="}],"count":"2"}},{"response_range":{"header":{}}}]}
                """#)
        let answer = try #require(readOfTwoKeys.parseAnswer(json))
        #expect(answer.conditionsHeld && answer.header.cluster == "14841639068965178418")
        #expect(answer.header.revision == 9 && answer.header.term == 2)
        #expect(answer.ranges == [[EtcdPair(key: "a", value: Array("v".utf8)), EtcdPair(key: "a", value: [])], []])
    }

    @Test(
        "An answer that lacks expected members, or has a key that is not Base64, is refused",
        arguments: [
            #"{}"#, #"{"header":{"cluster_id":"1"},"succeeded":true}"#,
            #"{"header":{"cluster_id":"1","revision":"9"},"succeeded":true,"responses":[{"response_range":{}},{"response_range":{}}]}"#,
            #"{"header":{"cluster_id":"1","revision":"9","raft_term":"2"},"succeeded":true,"responses":[]}"#,
            #"{"header":{"cluster_id":"1","revision":"9","raft_term":"2"},"succeeded":true,"responses":[{"response_range":{"kvs":[{"key":"%"}]}},{"response_range":{}}]}"#,
        ])
    func missingMembers(_ text: String) throws {
        #expect(readOfTwoKeys.parseAnswer(try JSONValue(parsing: text)) == nil)
    }

    @Test(
        "A watch message is decoded as created, as puts (without deletions) or as cancelled",
        arguments: [
            (#"{"result":{"header":{},"created":true}}"#, EtcdWatchMessage.created),
            (
                #"{"result":{"header":{},"events":[{"kv":{"key":"YQ==","value":"dg=="}},{"type":"DELETE","kv":{"key":"YQ=="}}]}}"#,
                .puts([EtcdPair(key: "a", value: Array("v".utf8))])
            ),
            (#"{"result":{"header":{}}}"#, .puts([])),
            (#"{"result":{"canceled":true,"compact_revision":"5"}}"#, .cancelled("compacted up to 5")),
            (#"{"result":{"canceled":true,"cancel_reason":"why"}}"#, .cancelled("why")),
            (
                #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}"#,
                .cancelled("etcdserver: no leader")
            ),
        ])
    func messages(_ line: String, _ message: EtcdWatchMessage) throws {
        #expect(EtcdWatchMessage(try JSONValue(parsing: line)) == message)
    }

    @Test(
        "An etcd address has the scheme http, a host and an optional port",
        arguments: [
            ("http://10.0.0.5:2379", "http://10.0.0.5:2379"), ("http://etcd-1", "http://etcd-1:2379"),
            ("http://[::1]:1/", "http://[::1]:1"), ("https://10.0.0.5:2379", nil), ("10.0.0.5:2379", nil),
            ("http://", nil), ("http://a/b", nil), ("http://a:b", nil), ("http://a b", nil),
        ] as [(String, String?)])
    func endpoints(_ text: String, _ description: String?) {
        #expect(EtcdEndpoint(text)?.description == description)
    }
}
