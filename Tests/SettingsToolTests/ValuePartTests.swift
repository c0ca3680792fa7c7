import TestSupport
import Testing

/// Tests of paths such as `servers[0].port` in `set`, `get` and `unset`, and of the options `--append`, `--remove` and
/// `--merge`.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct ValuePartTests {
    private static let servers = #"settings set app servers --json '[{"port":1,"name":"a"},{"port":2}]' --quiet"#

    @Test("set changes elements and members, get prints them, and unset removes them")
    func parts() throws {
        // `settings list --json | grep …` prints the revision of the suite. `--if-revision` needs one key, which
        // several arguments may name.
        try Shell([Self.servers], hasSchema: false).runTranscript(
            #"""
            $ settings set app 'servers[0].port=8080'
            servers: [{"port":1,"name":"a"},{"port":2}] → [{"port":8080,"name":"a"},{"port":2}]
            $ settings set app 'servers[0].tls=true' 'servers[1]["port"]=+1' --dry-run
            servers: [{"port":8080,"name":"a"},{"port":2}] → [{"port":8080,"name":"a","tls":true},{"port":3}]
            (a dry run: nothing was changed)
            $ settings set app 'servers[0][name]' b --if-revision 1
            ! settings: servers of suite app is at revision 2, not at 1
            => 5
            $ settings get app 'servers[0].name' 'servers[1]'
            a
            {"port":2}
            $ settings get app 'servers[2]'
            ! settings: servers[2]: the array has no element at index 2 (it has 2 elements)
            => 3
            $ settings get app 'servers[0].tls' --default false
            false
            $ settings get app 'servers[0]' 'servers[0].none' --source
            stored
            unset
            $ settings set app 'servers[0].port=1' 'servers[1].port=2' --if-revision 1
            ! settings: servers of suite app is at revision 2, not at 1
            => 5
            $ settings unset app servers servers --if-revision 1
            ! settings: servers of suite app is at revision 2, not at 1
            => 5
            $ settings unset app 'servers[0]' 'servers["0"]' --dry-run
            servers: [{"port":8080,"name":"a"},{"port":2}] → [{"port":2}]
            (a dry run: nothing was changed)
            $ settings unset app 'servers[0]' 'servers[1].port'
            servers: [{"port":8080,"name":"a"},{"port":2}] → [{}]
            $ settings undo app $(settings list --json | grep -o '[0-9]*,"schema' | grep -o '[0-9]*')
            servers: [{}] → [{"port":8080,"name":"a"},{"port":2}]
            $ settings set app 'window[width]=5' 'window["a.b"]=6'
            window: (unset) → {"width":5,"a.b":6}
            $ settings set app 'window[10]=+1'
            window: {"width":5,"a.b":6} → {"width":5,"a.b":6,"10":"+1"}
            ! settings: window[10] is stored as the text '+1', because no number is stored
            """#)
    }

    @Test("The type of a part of a value comes from the schema of the part, also if this schema is a reference")
    func partTypes() throws {
        let server = #"{"type":"object","properties":{"port":{"type":"integer"},"name":{"type":"string"}}}"#
        let servers = ##"{"type":"array","items":{"$ref":"#/$defs/server"}}"##
        let names = #"{"type":"object","additionalProperties":{"type":"string"}}"#
        let shell = try Shell(hasSchema: false)
        _ = try shell.directory.file(
            "parts.json",
            """
            {"type":"object","additionalProperties":false,"$defs":{"server":\(server)},
             "properties":{"servers":\(servers),"names":\(names)}}
            """)
        try shell.runTranscript(
            #"""
            $ settings schema apply app parts.json --quiet; settings set app servers --json '[{}]' --quiet
            $ settings set app 'servers[0].name=5' 'servers[0].port=5'
            servers: [{}] → [{"name":"5","port":5}]
            $ settings set app 'servers[0].port=five'
            ! settings: servers[0].port takes an integer, not 'five'
            => 5
            $ settings set app 'names[1]=5'
            ! settings: names of suite app is not set and has no default, so names[1] does not exist
            => 3
            $ settings set app 'names[a]=5'
            names: (unset) → {"a":"5"}
            """#)
    }

    @Test("The refusal of a missing part has the cause, and the refusal of a malformed path says how to write paths")
    func wrongPaths() throws {
        try Shell([Self.servers, "settings set app text abc --quiet"], hasSchema: false).runTranscript(
            #"""
            $ settings set app 'servers[2]=5'
            ! settings: servers[2]: the array has no element at index 2 (it has 2 elements)
            => 5
            $ settings set app 'servers[port]=5'
            ! settings: servers[port]: "port" is not a position in an array
            => 5
            $ settings set app 'text[0]=5'
            ! settings: text[0]: a string has no members or elements
            => 5
            $ settings set app 'servers[0].host.name=a'
            ! settings: servers[0].host.name: the object has no member "host"
            => 5
            $ settings unset app missing 'servers[7]'
            ! settings: servers[7]: the array has no element at index 7 (it has 2 elements)
            => 5
            $ settings get app 'servers[0].*'
            ! settings: servers[0].*: the object has no member "*"
            => 3
            $ settings set app 'servers[0=5'
            ! settings: cannot read the path 'servers[0=5': ] is missing; write KEY[0].name for a part of a value, or ["servers[0"] for a key with this name
            => 64
            $ settings set app 'servers[0]port=5'
            ! settings: cannot read the path 'servers[0]port=5': expected [, . or = after ]; write KEY[0].name for a part of a value, or ["servers[0]port"] for a key with this name
            => 64
            $ settings get app 'servers[]' 2>/dev/null
            => 64
            $ settings set app 'servers[0].=5' 2>/dev/null
            => 64
            $ settings set app 'servers["a]=5' 2>/dev/null
            => 64
            """#)
    }

    @Test("A key with [ or = in its name is written in brackets and quotation marks")
    func quotedKeys() throws {
        try Shell(hasSchema: false).runTranscript(
            #"""
            $ settings set app '["a[b=\u0022c"]=1'
            a[b="c: (unset) → 1
            $ settings get app '["a[b=\u0022c"]'
            1
            $ settings unset app '["a[b=\u0022c"]'
            a[b="c: 1 → (unset)
            """#)
    }

    @Test(
        "set stores a new key that looks like a path, and prints how to write the path, also if the schema refuses the key"
    )
    func keyThatLooksLikePath() throws {
        let shell = try Shell([Self.servers], hasSchema: false)
        let schema =
            #"{"type":"object","additionalProperties":false,"properties":{"w":{"type":"object","default":{}}}}"#
        _ = try shell.directory.file("closed.json", schema)
        try shell.runTranscript(
            #"""
            $ settings set app servers.0.port=5
            servers.0.port: (unset) → 5
            ! settings: servers.0.port names a whole key; write 'servers[0][port]' for a part of the value of servers
            $ settings set app servers.0.port=6
            servers.0.port: 5 → 6
            $ settings set app player.volume=1
            player.volume: (unset) → 1
            $ settings schema apply closed closed.json --quiet; settings set closed w/a 5 2>&1 | tail -1
              w/a names a whole key; write 'w[a]' for a part of the value of w
            """#)
    }

    @Test("set appends to, removes from and merges into values and their parts")
    func inPlace() throws {
        // Without a schema, `--remove` of 1 removes the number 1 and the text "1".
        try Shell(hasSchema: false).runTranscript(
            #"""
            $ settings set app tags a --append
            tags: (unset) → ["a"]
            $ settings set new tags=a tags=b --append
            tags: (unset) → ["a","b"]
            $ settings set app tags=a tags=b --append
            tags: ["a"] → ["a","a","b"]
            $ settings set app tags=a tags=1 --remove
            tags: ["a","a","b"] → ["b"]
            $ settings set app tags a --remove
            nothing to change
            $ settings set app nothing a --remove
            ! settings: nothing of suite app is not set and has no default
            => 3
            $ settings set app window --merge '{"size":{"w":1},"gone":null}'
            window: (unset) → {"size":{"w":1}}
            $ settings set app window --merge '{"on":true,"size":null,"list":[1]}'
            window: {"size":{"w":1}} → {"on":true,"list":[1]}
            $ settings set app 'window[list]' 2 --append
            window: {"on":true,"list":[1]} → {"on":true,"list":[1,2]}
            $ settings set app 'window[list]' 1 --remove
            window: {"on":true,"list":[1,2]} → {"on":true,"list":[2]}
            $ settings set app 'window[on]' --toggle
            window: {"on":true,"list":[2]} → {"on":false,"list":[2]}
            $ settings set app 'window[on]' 5 --append
            ! settings: window[on]: append needs an array, but the value is a boolean
            => 5
            $ settings set app 'counts=["1",1,2]' --quiet; settings set app counts 1 --remove
            counts: ["1",1,2] → [2]
            $ settings set app x='{"a":{"z":1}}' y='{}' --merge
            x: (unset) → {"a":{"z":1}}
            y: (unset) → {}
            $ settings set app x='{"a":{"y":2}}' 'x[a]={"w":3}' --merge
            x: {"a":{"z":1}} → {"a":{"z":1,"y":2,"w":3}}
            $ settings set app window a --remove
            ! settings: cannot remove from window: the value is an object; --remove needs an array
            => 5
            $ settings set app tags --merge '{}'
            ! settings: cannot merge into tags: the value is an array; --merge needs an object
            => 5
            $ settings set app window --merge 5
            ! settings: --merge takes a JSON object, not '5'
            => 64
            $ settings set app tags a --append --remove
            ! settings: --append and --remove exclude each other
            => 64
            """#)
    }

    @Test("Several callers that change the same part of a value concurrently lose no change")
    func concurrentChanges() throws {
        let shell = try Shell(["settings set app count --json '{\"n\":0}' --quiet"], hasSchema: false)
        // An attempt fails only if another caller's change was stored. The program gives up after 20 attempts, so 16
        // changes cannot make any caller give up.
        let end = try shell.run("seq 16 | xargs -P 4 -I{} settings set app 'count[n]' +1 --quiet")
        #expect(end == ChildProcess.End(code: 0, output: "", errors: ""))
        #expect(try shell.runSettings("get", "app", "count[n]") == "16\n")
    }

    @Test("Several callers that create the same object concurrently all store their members")
    func concurrentCreation() throws {
        let shell = try Shell(hasSchema: false)
        let end = try shell.run("printf 'a\\nb\\nc\\nd\\n' | xargs -P 4 -I{} settings set app 'o[{}]=1' --quiet")
        #expect(end == ChildProcess.End(code: 0, output: "", errors: ""))
        #expect(try shell.runSettings("get", "app", "o[a]", "o[b]", "o[c]", "o[d]") == "1\n1\n1\n1\n")
    }

    @Test("Only a caller that may read a secret can change a part of the secret")
    func secrets() throws {
        let shell = try Shell(tokens: ["owner": "*:read,write,schema,secrets", "writer": "*:read,write"])
        let schema =
            #"{"type":"object","additionalProperties":{},"properties":{"k":{"type":"object","writeOnly":true}}}"#
        _ = try shell.directory.file("secret.json", schema)
        try shell.runTranscript(
            #"""
            $ settings schema apply app secret.json --token-file owner; settings set app 'k[a]=1' --token-file owner
            k: ••• → •••
            $ settings set app 'k[a]=2' --token-file writer
            ! settings: app k is a secret, which this caller may not read
            => 6
            $ settings set app 'k[a]=2' --token-file owner; settings get app 'k[a]' --token-file owner
            k: ••• → •••
            2
            """#)
    }
}
