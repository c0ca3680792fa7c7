import TestSupport
import Testing

/// Tests of commands for whole suites that are run by a caller who may not read secrets. The exit code 6 says that the
/// caller lacks a right.
@Suite(.ownThread)
struct ConcealedSecretTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(tokens: ["owner": "*:read,write,schema,secrets", "guest": "*:read,write"])
        let schema = #"{"type":"object","additionalProperties":{},"properties":{"password":{"writeOnly":true}}}"#
        _ = try shell.directory.file("schema.json", schema)
        try shell.runSettings(
            "schema", "apply", "app", shell.directory.path + "/schema.json", "--token-file", ownerTokenFile)
        try shell.runSettings("set", "app", "a=1", "password=hunter2", "--token-file", ownerTokenFile)
    }

    // `Shell` has written the token of each caller into a file with the name of the caller.
    private var ownerTokenFile: String { shell.directory.path + "/owner" }
    private var guestTokenFile: String { shell.directory.path + "/guest" }

    /// The stored values with secrets, as the owner reads them.
    private func storedValues() throws -> String {
        try shell.runSettings("export", "app", "--format", "env", "--token-file", ownerTokenFile)
    }

    @Test("export without the right to read a secret ends with 6, unless secrets are left out")
    func exportConcealed() throws {
        let end = try shell.settings("export", "app", "--token-file", guestTokenFile)
        #expect(end.code == 6)
        #expect(end.output.isEmpty)
        #expect(end.errors.contains("cannot export the secrets password: this caller may not read secrets"))
        #expect(
            try shell.runSettings("export", "app", "--without-secrets", "--token-file", guestTokenFile)
                == "{\n  \"a\": 1\n}\n")
    }

    @Test("edit, import --replace and apply --prune do not change secrets that the caller may not read")
    func secretsStay() throws {
        _ = try shell.directory.file("editor", "echo '{\"a\":2}' >\"$1\"")
        let edit = try shell.run("EDITOR='sh editor' settings edit app --token-file guest")
        #expect(edit == ChildProcess.End(code: 0, output: "a: 1 → 2\n", errors: ""))
        #expect(try storedValues() == "a=2\npassword=hunter2\n")
        let values = try shell.directory.file("values.json", "{\"b\":3}")
        try shell.runSettings("import", "app", values, "--replace", "--token-file", guestTokenFile)
        #expect(try storedValues() == "b=3\npassword=hunter2\n")
        let file = try shell.directory.file("desired.json", #"{"suites":{"app":{}}}"#)
        #expect(try shell.runSettings("apply", file, "--prune", "--token-file", guestTokenFile) == "b: 3 → (unset)\n")
        #expect(try storedValues() == "password=hunter2\n")
    }

    @Test("plan ends with 6 if the file sets a secret that the caller may not read")
    func planConcealed() throws {
        let file = try shell.directory.file("desired.json", #"{"suites":{"app":{"password":"x"}}}"#)
        let end = try shell.settings("plan", file, "--token-file", guestTokenFile)
        #expect(end.code == 6)
        #expect(end.errors.contains("app password is a secret, which this caller may not read"))
    }
}
