import TestSupport
import Testing

/// Tests of `plan` and `apply` with the built program. The exit code 2 says that a plan has changes, 5 that the change
/// is refused, and 64 that the command line is wrong.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct PlanTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(hasSchema: false)
    }

    /// Writes a file for `plan` with the values of suites. Returns its path.
    private func desired(_ suites: String) throws -> String {
        try shell.directory.file("desired.json", "{\"suites\":\(suites)}")
    }

    /// The hash that a plan prints.
    private func hash(_ plan: String) throws -> String {
        let line = try #require(plan.split(separator: "\n").last)
        #expect(line.hasPrefix("plan ") && line.utf8.count == "plan ".utf8.count + 64)
        return String(line.dropFirst(5))
    }

    @Test("plan lists new values, changed values and, with --prune, removed values, and ends with 2")
    func planLists() throws {
        try shell.runSettings("set", "app", "a=1", "b=2", "c=3")
        let file = try desired(#"{"new":{"x":[]},"app":{"d":4,"b":"two","a":1}}"#)
        let plan = try shell.settings("plan", file)
        #expect(plan.code == 2)
        #expect(plan.output.hasPrefix("~ app b: 2 → \"two\"\n+ app d: 4\n+ new x: []\nplan "))
        let pruning = try shell.settings("plan", file, "--prune")
        #expect(
            pruning.output.hasPrefix("~ app b: 2 → \"two\"\n+ app d: 4\n- app c: 3\n+ new x: []\nplan "))
        #expect(try hash(plan.output) != hash(pruning.output))
        #expect(try shell.runSettings("export", "app", "--format", "env") == "a=1\nb=2\nc=3\n")
    }

    @Test("apply stores the contents of several suites in one commit; then plan and apply have nothing to change")
    func applyCommits() throws {
        try shell.runSettings("set", "app", "a=1", "c=3")
        let file = try desired(#"{"app":{"a":2},"new":{"x":null}}"#)
        let plan = try hash(try shell.settings("plan", file, "--prune").output)
        #expect(try shell.runSettings("apply", file, "--plan", plan, "--prune").contains("app a: 1 → 2\n"))
        #expect(try shell.runSettings("export", "app", "--format", "env") == "a=2\n")
        #expect(try shell.runSettings("history", "app", "--limit", "1").hasPrefix("revision 2,"))
        #expect(try shell.runSettings("history", "new", "--limit", "1").hasPrefix("revision 2,"))
        #expect(try shell.runSettings("plan", file, "--prune") == "nothing to change\n")
        #expect(try shell.runSettings("apply", file, "--prune") == "nothing to change\n")
    }

    @Test("apply --plan is refused if a suite or the file has changed since the plan, and prints the current plan")
    func applyRefusesChangedPlan() throws {
        try shell.runSettings("set", "app", "a=1")
        let plan = try hash(try shell.settings("plan", try desired(#"{"app":{"a":2}}"#)).output)
        let withChangedFile = try shell.settings("apply", try desired(#"{"app":{"a":3}}"#), "--plan", plan)
        #expect(withChangedFile.code == 5)
        #expect(withChangedFile.output.hasPrefix("~ app a: 1 → 3\n"))
        try shell.runSettings("set", "app", "b=1")
        let withChangedSuite = try shell.settings("apply", try desired(#"{"app":{"a":2}}"#), "--plan", plan)
        #expect(withChangedSuite.code == 5)
        #expect(withChangedSuite.errors.contains("cannot apply the plan \(plan): the plan has changed"))
        #expect(try shell.runSettings("get", "app", "a") == "1\n")
    }

    @Test("apply --plan takes the options from the plan, and refuses options that the plan does not have")
    func hashCoversOptions() throws {
        let schema = #"{"type":"object","additionalProperties":{},"properties":{"build":{"readOnly":true}}}"#
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema), "--quiet")
        try shell.runSettings("set", "app", "old=1", "a=1")
        let file = try desired(#"{"app":{"a":1,"build":7}}"#)
        let plan = try shell.settings("plan", file, "--hash", "--override", "--prune")
        // The output is a hash of 64 digits and a line end.
        #expect(plan.code == 2 && plan.output.utf8.count == 65)
        let hashWithBoth = String(plan.output.dropLast())
        let hashWithOverride = String(try shell.settings("plan", file, "--hash", "--override").output.dropLast())
        #expect(hashWithBoth != hashWithOverride)
        #expect(try shell.settings("apply", file, "--plan", hashWithOverride, "--prune").code == 5)
        #expect(
            try shell.runSettings("apply", file, "--plan", hashWithBoth) == "build: (unset) → 7\nold: 1 → (unset)\n")
        #expect(try shell.settings("plan", file, "--hash").code == 0)
    }

    @Test("The hash of a plan depends on --override, and a refused plan has no hash")
    func hashOfOverride() throws {
        let schema = #"{"type":"object","additionalProperties":{},"properties":{"build":{"readOnly":true}}}"#
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema), "--quiet")
        let unlocked = try desired(#"{"app":{"a":1}}"#)
        let plan = try shell.settings("plan", unlocked, "--hash")
        #expect(plan.output != (try shell.settings("plan", unlocked, "--hash", "--override").output))
        let hash = String(plan.output.dropLast())
        #expect(try shell.settings("apply", unlocked, "--plan", hash, "--override").code == 5)
        let locked = try shell.settings("plan", try desired(#"{"app":{"build":7}}"#), "--hash")
        #expect(locked.code == 5 && locked.output.isEmpty)
        #expect(try shell.settings("plan", unlocked, "--hash", "--json").code == 64)
    }

    @Test("The hash of a plan is the SHA-256 of the revisions of its suites and of its operations")
    func hashIsSHA256() throws {
        try shell.runSettings("set", "app", "a=1", "c=3")
        let plan = try hash(
            try shell.settings("plan", try desired(#"{"app":{"a":{"z":1,"b":2}},"new":{}}"#), "--prune").output)
        let end = try shell.run(
            "printf '%s\\n' 'app 1' 'new 0' 'app set a {\"b\":2,\"z\":1}' 'app delete c' | sha256sum | cut -c1-64"
        )
        #expect(plan == end.output.dropLast())
    }

    @Test("A plan does not show secrets")
    func planHidesSecrets() throws {
        let schema = #"{"type":"object","additionalProperties":false,"properties":{"a":{"writeOnly":true}}}"#
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        try shell.runSettings("set", "app", "a=hunter2")
        let plan = try shell.settings("plan", try desired(#"{"app":{"a":"hunter3"}}"#))
        #expect(plan.output.hasPrefix("~ app a: ••• → •••\nplan "))
    }

    @Test("plan prints all refusals and no hash; after apply of 5.0 for an integer, plan has nothing to change")
    func planRefused() throws {
        let schema = """
            {"type":"object","additionalProperties":false,"properties":{"count":{"type":"integer","maximum":9},
            "build":{"readOnly":true},"plant":{"readOnly":true}}}
            """
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        _ = try desired(#"{"app":{"build":1,"count":10,"plant":1,"x":1}}"#)
        _ = try shell.directory.file("good.json", #"{"suites":{"app":{"build":1,"count":5.0}}}"#)
        try shell.runTranscript(
            """
            $ settings plan desired.json
            + app build: 1
            + app count: 10
            + app plant: 1
            + app x: 1
            ! settings: cannot write app build: the schema locks the key; --override writes locked keys
            ! cannot write app plant: the schema locks the key; --override writes locked keys
            ! the schema of suite app has no key x
            !   count: must be at most 9 (got 10)
            => 5
            $ settings plan good.json --override | sed 's/plan .*/HASH/'
            + app build: 1
            + app count: 5
            HASH
            $ settings apply good.json --override --quiet; settings plan good.json
            nothing to change
            """)
    }

    @Test("plan succeeds for a caller who may only read, and reports that the daemon did not check the plan")
    func planReadOnly() throws {
        let shell = try Shell(tokens: ["reader": "app:read"])
        _ = try shell.directory.file("desired.json", #"{"suites":{"app":{"a":1}}}"#)
        let plan = try shell.run("settings plan desired.json --token-file reader")
        #expect(plan.code == 2 && plan.output.hasPrefix("+ app a: 1\nplan "))
        #expect(plan.errors.hasPrefix("settings: the daemon did not check the planned changes: "))
    }

    @Test("A plan of more operations than the daemon takes in one commit is refused with the limit, and stores nothing")
    func planTooLarge() throws {
        let shell = try Shell(hasSchema: false, configuration: #"{"limits":{"commitKeys":100}}"#)
        let members = { (count: Int) in (1...count).map { "\"k\($0)\":\($0)" }.joined(separator: ",") }
        _ = try shell.directory.file("large.json", #"{"suites":{"app":{\#(members(101))}}}"#)
        _ = try shell.directory.file("small.json", #"{"suites":{"app":{\#(members(99))}}}"#)
        try shell.runTranscript(
            """
            $ settings plan large.json --hash
            ! settings: cannot apply the plan in one commit, with 101 operations and 1 condition: the write changes or checks more than 100 keys; split it into several writes, or raise limits.commitKeys
            !   split the settings into several files, and run 'settings apply' for each file; other callers can then see the state between the commits
            => 5
            $ settings apply large.json --quiet
            ! settings: cannot apply the plan in one commit, with 101 operations and 1 condition: the write changes or checks more than 100 keys; split it into several writes, or raise limits.commitKeys
            !   split the settings into several files, and run 'settings apply' for each file; other callers can then see the state between the commits
            => 5
            $ settings list
            $ settings apply small.json --quiet; settings apply large.json
            k100: (unset) → 100
            k101: (unset) → 101
            """)
    }

    @Test(
        "plan refuses a file whose JSON is not an object with exactly one member, which is suites",
        arguments: ["{}", "[]", #"{"suites":{},"more":1}"#, #"{"app":{"a":1}}"#])
    func malformedFile(text: String) throws {
        let end = try shell.settings("plan", try shell.directory.file("desired.json", text))
        #expect(end.code == 1)
        #expect(end.errors.contains("expected {\"suites\":{\"SUITE\":{\"KEY\":value}}}"))
    }
}
