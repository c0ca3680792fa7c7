import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// Answers must not reveal names, counts or values that the caller may not read.
///
/// Each daemon also has the caller `all`, which has every right. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct HidingTests {
    private static let writesBeforeTest: [Request] = [
        "PUT app.one/keys/a 1", "PUT app.one/keys/player.volume 1", "PUT app.one/keys/player.name 2",
        "PUT app.two/keys/a 1",
        "PUT hidden/keys/a 1", "PUT hidden.app/keys/a 1",
    ]

    private static let schema: Request = """
        PUT vault/schema {"additionalProperties":{},"properties":{"password":{"writeOnly":true,"type":"string"},\
        "counter":{"writeOnly":true,"type":"integer"},"locked":{"writeOnly":true,"readOnly":true},"plain":{}}}
        """

    /// The writes before the tests of secrets. In these tests, the caller `sees` may read secrets. The caller `reads`
    /// may write all settings, and may read only the settings that are not secret.
    private static let secrets: [Request] = [
        schema, #"PUT vault/keys/password "hunter2""#, "PUT vault/keys/counter 7", "PUT vault/keys/plain 1",
    ]

    @Test("A list has the suites that the caller may read, on every page, with the number of readable keys")
    func lists() throws {
        let protected = try ProtectedDaemon(
            ["apps": ["app.*:read"], "player": ["app.one/player.*:read"]], given: Self.writesBeforeTest)
        func names(_ target: String, _ name: String) throws -> [String] {
            try protected.send(Request("GET \(target)"), as: name).json?["suites"]?.array?.compactMap {
                $0["suite"]?.string
            } ?? []
        }
        #expect(try names("/v1/suites", "apps") == ["app.one", "app.two"])
        #expect(try names("/v1/suites?limit=1", "apps") == ["app.one"])
        #expect(try names("/v1/suites?after=app.one", "apps") == ["app.two"])
        #expect(try names("/v1/suites?prefix=h", "apps") == [])
        #expect(try protected.send("GET /v1/suites?after=app.one&limit=1", as: "apps").json?["next"] == nil)
        let listing = try protected.send("GET /v1/suites", as: "player").json?["suites"]?.array
        #expect(listing?.count == 1)
        #expect(listing?.first?["keyCount"] == 2)
    }

    @Test
    func `A list with dropped suites has only the suites that the caller may read`() throws {
        let protected = try ProtectedDaemon(
            ["apps": ["app.*:read"], "player": ["app.one/player.*:read"]],
            given: Self.writesBeforeTest + ["DELETE app.one?drop", "DELETE hidden?drop", "DELETE app.two?drop"])
        func names(_ target: String, _ name: String) throws -> [String] {
            try protected.send(Request("GET \(target)"), as: name).json?["suites"]?.array?.compactMap {
                $0["suite"]?.string
            } ?? []
        }
        #expect(try names("/v1/suites?dropped", "all") == ["app.one", "app.two", "hidden", "hidden.app"])
        #expect(try names("/v1/suites?dropped", "apps") == ["app.one", "app.two"])
        #expect(try names("/v1/suites?dropped&after=app.one", "apps") == ["app.two"])
        #expect(try protected.send("GET /v1/suites?dropped&after=app.one&limit=1", as: "apps").json?["next"] == nil)
        #expect(try names("/v1/suites?dropped", "player") == ["app.one"])
    }

    @Test("A grant on some keys shows only these keys in every representation")
    func keys() throws {
        let protected = try ProtectedDaemon(["player": ["app.one/player.*:write"]], given: Self.writesBeforeTest)
        let shown: JSONValue = ["player.name": 2, "player.volume": 1]
        #expect(try protected.send("GET app.one", as: "player").json?["values"] == shown)
        #expect(try protected.send("GET app.one?view=stored", as: "player").json?["values"] == shown)
        #expect(try protected.send("GET app.one?raw", as: "player").json == shown)
        #expect(try protected.send("GET app.one?at=3", as: "player").json?["values"] == shown)
        #expect(try protected.send("GET app.one/observe", as: "player").json?["values"] == shown)
        let keys = try protected.send("GET app.one/keys", as: "player").json?["keys"]?.array
        #expect(keys?.map { $0["key"] } == ["player.name", "player.volume"])
        #expect(keys?.allSatisfy { $0["writable"] == true } == true)
        #expect(try protected.send("GET app.one/keys?limit=1", as: "player").json?["next"] == "player.name")
        let changes = try protected.send("GET app.one/observe?since=0", as: "player").json?["changes"]?.array
        #expect(changes?.map { $0["key"] } == ["player.volume", "player.name"])
        let commits = try protected.send("GET app.one/history", as: "player").json?["commits"]?.array
        #expect(commits?.map { $0["changes"]?.array?.map { $0["key"] } } == [["player.name"], ["player.volume"]])
        let difference = try protected.send("GET app.one/diff?from=0", as: "player").json?["changes"]?.array
        #expect(difference?.map { $0["key"] } == ["player.name", "player.volume"])
        // Commit 1 changed the key `a`, and commit 5 the suite `hidden`.
        for request: Request in [#"POST app.one/undo {"revision":1}"#, #"POST /v1/undo {"revision":5}"#] {
            let answer = try protected.send(request, as: "player")
            #expect(answer.status == 403 && !answer.text.contains("hidden") && !answer.text.contains("key a"))
        }
        for request: Request in [
            "GET app.one/keys/a", "GET app.one/schema", "PUT app.one {}", "DELETE app.one",
            "DELETE app.one?prefix=pl", "PUT app.one/keys/a 1", #"PATCH app.one {"player.name":1,"a":2}"#,
        ] {
            #expect(try protected.send(request, as: "player").status == 403, "\(request.target)")
        }
        for request: Request in [#"PATCH app.one {"player.name":1}"#, "DELETE app.one?prefix=player.v"] {
            #expect(try protected.send(request, as: "player").status == 200, "\(request.target)")
        }
    }

    @Test("A list of keys marks only the keys as writable that the caller may write")
    func writable() throws {
        let protected = try ProtectedDaemon(
            ["some": ["app.one:read", "app.one/a:write"]], given: Self.writesBeforeTest)
        let keys = try protected.send("GET app.one/keys", as: "some").json?["keys"]?.array
        // The keys are `a`, `player.name` and `player.volume`.
        #expect(keys?.map { $0["writable"] } == [true, false, false])
    }

    @Test("Suggestions name only suites and keys that the caller may read, and do not depend on other names")
    func suggestions() throws {
        let protected = try ProtectedDaemon(
            ["apps": ["app.*:read,write"], "lone": ["app.onf:read"], "player": ["app.one/player.*:read"]],
            given: Self.writesBeforeTest)
        func suggestions(_ request: Request, for name: String) throws -> JSONValue? {
            let answer = try protected.send(request, as: name)
            #expect(answer.status == 404 || answer.status == 422, "\(answer.text)")
            return answer.json?["didYouMean"]
        }
        #expect(try suggestions("GET app.onf", for: "apps") == ["app.one"])
        #expect(try suggestions("GET app.onf", for: "lone") == nil)
        #expect(try suggestions("DELETE app.onf", for: "apps") == ["app.one"])
        for name in ["app.onf-hidden", "app.on", "app-onf"] {
            // The caller `apps` may read the first two suites, and may not read `app-onf`.
            #expect(try protected.send(Request("PUT \(name)/keys/a 1"), as: "all").status == 201)
        }
        let nearest = try suggestions("GET app.onf", for: "apps")?.array ?? []
        #expect(nearest.contains("app.on") && nearest.contains("app.one") && !nearest.contains("app-onf"))
        #expect(
            try protected.send(
                #"PUT app.one/schema {"additionalProperties":false,"properties":{"a":{},"b":{},"#
                    + #""player.volume":{},"player.name":{}}}"#,
                as: "all"
            ).status == 201)
        #expect(try suggestions("GET app.one/keys/player.volum", for: "player") == ["player.volume"])
        #expect(try suggestions("GET app.one/keys/player.nam", for: "player") == ["player.name"])
    }

    @Test("A watcher of all suites sees the readable suites appear and change, and no other suites")
    func watching() throws {
        let protected = try ProtectedDaemon(["apps": ["app.*:read"]], given: Self.writesBeforeTest)
        let state = try protected.send("GET /v1/observe?suitePrefix=", as: "apps")
        #expect(state.json?["values"]?.object?.names.sorted() == ["app.one", "app.two"])
        let peer = try WaitingClient(
            protected,
            protected.authorized(Request("GET /v1/observe?suitePrefix=&since=\(state.cursorText)"), as: "apps"))
        for request: Request in ["PUT hidden/keys/a 2", "PUT hidden.new/keys/a 1", "DELETE hidden.app?drop"] {
            #expect(try protected.send(request, as: "all").status < 300)
        }
        #expect(try protected.send("PUT app.new/keys/a 1", as: "all").status == 201)
        let changes = try peer.answer().json
        #expect(changes?["changes"]?.array?.map { $0["suite"] } == ["app.new"])
        #expect(changes?["dropped"] == nil)
        #expect(changes?["schemaRevision"]?.object?.names.elementsEqual(["app.new"]) == true)
    }

    @Test("History, comparisons and undo reveal no suites and keys that the caller may not read")
    func past() throws {
        let protected = try ProtectedDaemon(["player": ["app.one/player.*:write"]], given: Self.writesBeforeTest)
        let commits = try protected.send("GET app.one/history", as: "player").json?["commits"]?.array
        let keys = commits?.flatMap { $0["changes"]?.array ?? [] }.map { $0["key"] }
        #expect(keys == ["player.name", "player.volume"])
        let difference = try protected.send("GET app.one/diff?from=0", as: "player").json
        #expect(difference?["changes"]?.array?.map { $0["key"] } == ["player.name", "player.volume"])
        // The commits 1, 4 and 5 changed keys that `player` may not read, and commit 99 does not exist.
        for (target, revision) in [
            ("/v1/undo", 1), ("/v1/undo", 4), ("/v1/undo", 5), ("/v1/undo", 99), ("app.one/undo", 1),
        ] {
            let answer = try protected.send(Request(#"POST \#(target) {"revision":\#(revision)}"#), as: "player")
            #expect(answer.status == 403, "\(revision): \(answer.text)")
            let detail =
                "cannot undo commit \(revision): it does not exist, is no longer kept or changed nothing, or this "
                + "caller may not read all of its changes"
            #expect(answer.json?["detail"]?.string == detail)
        }
        #expect(try protected.send(#"POST /v1/undo {"revision":3}"#, as: "player").status == 200)
    }

    @Test("Every representation shows the value of a secret only to callers with the right `secrets`")
    func secrets() throws {
        let protected = try ProtectedDaemon(
            ["reads": ["vault:write,override,schema"], "sees": ["vault:read,secrets"]], given: Self.secrets)
        for target in [
            "vault/keys/password", "vault", "vault?view=stored", "vault?raw", "vault?at=4", "vault/keys",
            "vault/observe",
            "vault/observe?since=0",
        ] {
            #expect(try protected.send(Request("GET \(target)"), as: "sees").text.contains("hunter2"), "\(target)")
            let answer = try protected.send(Request("GET \(target)"), as: "reads")
            #expect(answer.status == 200, "\(target): \(answer.text)")
            #expect(!answer.text.contains("hunter2"), "\(target): \(answer.text)")
        }
        let setting = try protected.send("GET vault/keys/password", as: "reads").json
        #expect(setting?["secret"] == true && setting?["value"] == nil && setting?["source"] == "stored")
        #expect(try protected.send("GET vault", as: "reads").json?["secrets"] == ["counter", "password"])
        let change = try protected.send("GET vault/observe?since=0&key=password", as: "reads").json?["changes"]?.array?
            .first
        #expect(change?["secret"] == true && change?["old"] == nil && change?["new"] == nil)
        for target in ["history", "diff?from=0", "keys?at=2", "keys/password?at=2"] {
            let answer = try protected.send(Request("GET vault/\(target)"), as: "reads")
            #expect(answer.text.contains(#""secret":true"#) && !answer.text.contains("hunter2"), "\(answer.text)")
        }
    }

    /// Requests of a caller that may write the suite and may not read secrets. A schema, an undo or a restore that
    /// would reveal a secret or depend on its value is refused.
    static let withoutSecrets: [(request: Request, status: Int)] = [
        ("GET vault/keys/password?raw", 403), (#"PATCH vault/keys/counter {"op":"add","by":1}"#, 403),
        (#"POST /v1/transaction {"do":[{"op":"add","suite":"vault","key":"counter","by":1}]}"#, 403),
        (#"POST /v1/transaction {"if":[{"suite":"vault","key":"counter","value":7}],"do":[]}"#, 403),
        (#"POST /v1/transaction {"if":[{"suite":"vault","key":"counter","stored":true}],"do":[]}"#, 200),
        // An object is merged into the present value, and a text replaces it.
        (#"PATCH vault {"password":{"a":1}}"#, 403), (#"PATCH vault {"password":"new"}"#, 200),
        (#"PUT vault/schema {"additionalProperties":{}}"#, 403), ("DELETE vault/schema", 403),
        (#"POST vault/undo {"revision":1}"#, 403), (#"POST vault/undo {"revision":2}"#, 403),
        (#"POST vault/restore {"to":2}"#, 403), (#"POST vault/restore {"to":3,"keys":["plain"]}"#, 200),
        (
            #"PUT vault/schema?dryRun {"additionalProperties":{},"properties":{"#
                + #""password":{"writeOnly":true,"pattern":"^h"},"counter":{"writeOnly":true,"type":"integer"}}}"#, 403
        ),
        ("DELETE vault/keys/password", 200), (#"PUT vault/keys/password "x""#, 200), ("PUT vault/keys/password 1", 422),
    ]

    @Test(
        "Without the right `secrets`, a caller can write a secret, and cannot compare, change in place or reveal it",
        arguments: withoutSecrets)
    func blind(request: Request, status: Int) throws {
        let protected = try ProtectedDaemon(
            ["reads": ["vault:write,schema"], "sees": ["vault:write,schema,secrets"]], given: Self.secrets)
        let answer = try protected.send(request, as: "reads")
        #expect(answer.status == status, "\(answer.text)")
        #expect(!answer.text.contains("hunter2") && !answer.text.contains("\"old\":7"), "\(answer.text)")
        if status == 403 {
            #expect(answer.json?["code"] == "forbidden")
            // Requests about `password` and requests with a short body are not checked, because some of them fail also
            // with the right `secrets`. For example, the value of `password` cannot be an object.
            let succeedsWithRight = !request.target.contains("password") && request.body.count >= 30
            #expect(try protected.send(request, as: "sees").status < 400 || !succeedsWithRight)
        }
    }

    @Test("Writing the current value of a secret reveals nothing to a caller that may not read it")
    func same() throws {
        let protected = try ProtectedDaemon(
            ["reads": ["vault:write,override"], "sees": ["vault:write,secrets"]], given: Self.secrets)
        for value in ["\"hunter2\"", "\"other\""] {
            for request: Request in [
                Request("PUT vault/keys/password \(value)"), Request(#"PATCH vault {"password":\#(value)}"#),
                Request(
                    #"POST /v1/transaction {"do":[{"op":"set","suite":"vault","key":"password","value":\#(value)}]}"#),
            ] {
                let answer = try protected.send(request, as: "reads")
                #expect(answer.json?["changed"] == true, "\(answer.text)")
                #expect(answer.json?["previous"] == nil)
            }
            #expect(try protected.send("PUT vault/keys/password \"hunter2\"", as: "all").status == 200)
        }
        #expect(try protected.send(#"PUT vault/keys/password "hunter2""#, as: "sees").json?["changed"] == false)
        #expect(try protected.send("PUT vault/keys/locked?override=locked 5", as: "all").status == 201)
        // The refusal for a locked secret is the same for the current value 5 and for another value.
        for value in [5, 6] {
            let request = Request(#"PUT vault {"locked":\#(value)}"#)
            #expect(try protected.send(request, as: "reads").json?["code"] == "locked")
        }
    }

    @Test("A violation of a suite rule does not name keys that the caller may not read")
    func rules() throws {
        let protected = try ProtectedDaemon(
            ["some": ["app/on:write"]],
            given: [
                #"PUT app/schema {"additionalProperties":{},"properties":{"on":{"type":"boolean"}},"#
                    + #""dependentRequired":{"on":["certificate"]}}"#
            ])
        let answer = try protected.send("PUT app/keys/on true", as: "some")
        #expect(answer.status == 422)
        #expect(!answer.text.contains("certificate"), "\(answer.text)")
        #expect(try protected.send("PUT app/keys/on true", as: "all").text.contains("certificate"))
    }

    @Test(
        "A refusal by a quota has counts only for callers that may read everything", arguments: [false, true])
    func quotas(isDryRun: Bool) throws {
        let protected = try ProtectedDaemon(
            ["some": ["app/a*:write"], "reads": ["app:write"], "full": ["*:write,secrets"], "two": ["new:write"]],
            given: ["PUT app/keys/a 1", "PUT app/keys/b 1", "PUT app/keys/c 1", "PUT other/keys/a 1"]
        ) {
            $0.writes.quotas.keysPerSuite = 3; $0.writes.quotas.suites = 2
        }
        let flag = isDryRun ? "?dryRun" : ""
        func detail(_ target: String, _ name: String) throws -> String {
            let answer = try protected.send(Request("PUT \(target)\(flag) 1"), as: name)
            #expect(answer.status == 507 && answer.json?["limit"] != nil, "\(answer.text)")
            return answer.json?["detail"]?.string ?? ""
        }
        let withoutCounts =
            "the write would exceed a quota: quotas.keysPerSuite allows 3; remove keys of the suite, or raise "
            + "quotas.keysPerSuite"
        for name in ["some", "reads"] { #expect(try detail("app/keys/a2", name) == withoutCounts) }
        #expect(try detail("app/keys/a2", "full").contains("suite app would have 4 keys"))
        let suites =
            "the write would exceed a quota: quotas.suites allows 2; drop suites (DELETE with ?drop=true), or raise "
            + "quotas.suites"
        #expect(try detail("new/keys/a", "two") == suites)
        #expect(try detail("new/keys/a", "full").contains("there would be 3 suites"))
    }

    private static let document = #"""
        {"$defs": {"token": {"default": "hunter3", "examples": ["hunter3"]}}, "additionalProperties": false,
        "examples": [{"password": "hunter2", "token": "hunter3"}], "properties": {"password": {"writeOnly": true,
        "type": "string", "default": "hunter2", "examples": ["hunter2"], "maxLength": 9}, "plain": {"default": "open",
        "examples": ["shown"]}, "token": {"writeOnly": true, "$ref": "#/$defs/token"}}}
        """#

    @Test(
        "A schema hides the defaults and examples of secrets from callers without the right `secrets`",
        arguments: ["", "?at=1"])
    func schemas(query: String) throws {
        let protected = try ProtectedDaemon(
            [
                "reads": ["vault:read"], "sees": ["vault:read,secrets"],
                "one": ["vault:read", "vault/password:secrets"],
            ],
            given: [Request("PUT vault/schema \(Self.document)"), "PUT other/keys/a 1"])
        func ask(_ path: String, _ name: String) throws -> RawResponse {
            try protected.send(Request("GET vault/\(path)\(query)"), as: name)
        }
        for path in ["schema", "keys", "keys/password", "keys/token"] {
            #expect(!(try ask(path, "reads").text.contains("hunter")), "\(path)")
            #expect(!(try ask(path, "one").text.contains("hunter3")), "\(path)")
            #expect(try ask(path, "sees").text.contains("hunter"), "\(path)")
        }
        for path in ["schema", "keys"] {
            let shown = try ask(path, "reads").text
            for text in ["maxLength", "open", "shown", "writeOnly"] { #expect(shown.contains(text), "\(shown)") }
            #expect(try ask(path, "one").text.contains("hunter2"))
        }
        #expect(try ask("schema", "sees").text == Self.document)
        let tags = try ["reads", "one", "sees"].map { try #require(try ask("schema", $0).field("ETag")) }
        #expect(Set(tags).count == 3 && tags[2] == "\"1\"")
        let known = Request("GET vault/schema\(query)", "If-None-Match: \(tags[2]), \(tags[1])")
        #expect(try protected.send(known, as: "reads").status == 200)
        #expect(try protected.send(known, as: "one").status == 304)
    }

    @Test("A schema without secrets is the same document with the same tag for every reader")
    func openSchema() throws {
        let document = #"{"additionalProperties" : false, "properties": {"a": {"default": 1}}}"#
        let protected = try ProtectedDaemon(["reads": ["app:read"]], given: [Request("PUT app/schema \(document)")])
        let answer = try protected.send("GET app/schema", as: "reads")
        #expect(answer.text == document && answer.field("ETag") == "\"1\"")
    }
}
