import TestSupport
import Testing

/// Tests of the program `settings` when another caller changes the suite between a read and a write of the program. The
/// exit code 5 says that the change was refused.
@Suite(.ownThread)
struct ConflictTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(["settings set app 'l=[\"a\",\"b\",\"c\"]' --quiet"], hasSchema: false)
    }

    /// Runs a command of the program through a proxy that runs command lines of another caller before requests of the
    /// program. An interference is the method of a request, and the command line that runs before this request.
    private func run(_ command: String, _ interferences: InterferingProxy.Interference...) throws -> ChildProcess.End {
        let proxy = try InterferingProxy(to: shell, interferences)
        let end = try shell.run("settings \(command) --server \(proxy.url)")
        #expect(proxy.interferenceCount == interferences.count)
        return end
    }

    @Test(
        "set and unset of an element end with exit code 5 if another caller has removed an earlier element meanwhile",
        arguments: ["set app 'l[1]' x", "unset app 'l[1]'", "unset app 'l[2]' 'l[1]'"])
    func movedElement(command: String) throws {
        let end = try run(command, ("PATCH", "settings unset app 'l[0]' --quiet"))
        #expect(end.code == 5 && end.output.isEmpty)
        let removesLastElement = command.contains("l[2]")
        let cause =
            removesLastElement
            ? "settings: l[2]: the array has no element at index 2 (it has 2 elements)\n"
            : "settings: cannot change l[1]: another caller changed it from \"b\" to \"c\" meanwhile; "
                + "read the value, and run the command again with the present path of the element\n"
        #expect(end.errors == cause)
        #expect(try shell.runSettings("get", "app", "l") == "[\"b\",\"c\"]\n")
    }

    @Test(
        "set of a member ends with exit code 5 if another caller moved another element with this member to the position"
    )
    func memberOfMovedElement() throws {
        try shell.runSettings("set", "app", "s", "--json", #"[{"n":1,"p":80},{"n":2,"p":80}]"#)
        let end = try run("set app 's[0].p=81'", ("PATCH", "settings unset app 's[0]' --quiet"))
        #expect(end.code == 5)
        #expect(end.errors.contains("cannot change s[0]: another caller changed it from {\"n\":1,\"p\":80} to"))
        #expect(try shell.runSettings("get", "app", "s") == #"[{"n":2,"p":80}]"# + "\n")
    }

    @Test("set and unset of an element succeed if another caller changed other elements, or restored the element")
    func unchangedElement() throws {
        let set = try run(
            "set app 'l[1]' x", ("PATCH", "settings set app 'l[1]=z' 'l[0]=A' --quiet"),
            ("GET", "settings set app 'l[1]' b --quiet"))
        #expect(set == ChildProcess.End(code: 0, output: "l: [\"A\",\"b\",\"c\"] → [\"A\",\"x\",\"c\"]\n", errors: ""))
        let unset = try run("unset app 'l[1]' 'l[0]'", ("PATCH", "settings set app l d --append --quiet"))
        #expect(unset.code == 0 && unset.errors.isEmpty)
        #expect(try shell.runSettings("get", "app", "l") == #"["c","d"]"# + "\n")
    }

    @Test("A change that depends on the value is repeated with the new value, also in an array")
    func dependentChange() throws {
        try shell.runSettings("set", "app", "n", "--json", "[1]")
        let end = try run("set app 'n[0]' +1", ("PATCH", "settings set app 'n[0]' 5 --quiet"))
        #expect(end.code == 0 && end.output == "n: [5] → [6]\n")
    }

    @Test("set is refused if another caller has removed the object on the path meanwhile")
    func removedObject() throws {
        try shell.runSettings("set", "app", "o", "--json", #"{"a":{"b":1}}"#)
        let end = try run("set app 'o[a].b=2'", ("PATCH", "settings unset app 'o[a]' --quiet"))
        #expect(end.code == 5)
        #expect(end.errors == "settings: o[a].b: the object has no member \"a\"\n")
    }

    @Test("With --if-revision, a change by another caller is refused and not repeated")
    func guardedChange() throws {
        let end = try run(
            "set app 'l[1]' x --if-revision 1", ("PATCH", "settings set app l d --append --quiet"))
        #expect(end.code == 5)
        #expect(end.errors == "settings: l of suite app is at revision 2, not at 1\n")
    }

    @Test("import reads the suite again after a conflict, and stores a value that another caller removed meanwhile")
    func importAfterConflict() throws {
        // The daemon refuses the first attempt because of the locked key `build`. The second attempt leaves out `build`
        // and `x`, because the values of the file are stored already. The interference `true` changes nothing. The
        // second interference removes `x`, so the daemon refuses the second attempt, and the third attempt stores `x`.
        _ = try shell.directory.file(
            "locks.json", #"{"type":"object","additionalProperties":{},"properties":{"build":{"readOnly":true}}}"#)
        _ = try shell.directory.file("values.json", #"{"build":7,"theme":"dark","x":1}"#)
        try shell.runSettings("set", "app", "build=7", "x=1", "--quiet")
        try shell.runSettings("schema", "apply", "app", "\(shell.directory.path)/locks.json", "--quiet")
        let end = try run(
            "import app values.json", ("POST", "true"), ("POST", "settings unset app x --quiet"))
        #expect(end.code == 0 && end.errors.isEmpty)
        #expect(end.output == "theme: (unset) → \"dark\"\nx: (unset) → 1\n")
    }

    @Test("import --replace does not overwrite a change that another caller makes meanwhile, and ends with exit code 5")
    func replaceAfterConflict() throws {
        _ = try shell.directory.file("values.json", #"{"theme":"dark"}"#)
        let end = try run("import app values.json --replace", ("POST", "settings set app y=1 --quiet"))
        #expect(end.code == 5 && end.output.isEmpty)
        #expect(
            end.errors
                == "settings: cannot change the suite app: another caller changed it meanwhile; run the command again\n"
        )
        #expect(try shell.runSettings("get", "app", "y") == "1\n")
    }
}
