import Dispatch
import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// Changes in place that another program interrupts with a write of the same key. `ClientKeys` declares the merge
/// rules. The body of `changeInPlace` runs between the read and the write of program `one`.
@Suite(.ownThread)
struct ConflictTests {
    @Test(
        "After a conflict, a key with merge .sum adds the local difference to the new value",
        arguments: BackendKind.allCases)
    func sums(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        changeInPlace(&one[\.visits]) { visits in
            two[\.visits] = 10
            visits += 5
        }
        #expect(one.visits == 15)
        changeInPlace(&one[\.visits]) { visits in
            two.remove(\.visits)
            visits -= 1
        }
        #expect(one.visits == -1, "without a stored value, the sum starts from the default")
        changeInPlace(&one.meters) { meters in
            two.meters = 1.5
            meters += 2
        }
        #expect(one.meters == 3.5)
        #expect(fixture.drainIssues() == [])
    }

    @Test(arguments: BackendKind.allCases)
    func `A merged sum outside the key's limits is refused`(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        changeInPlace(&one.meters) { meters in
            two.meters = 99
            meters += 2
        }
        #expect(one.meters == 99, "the sum would be 101, and the maximum of the key is 100")
        #expect(fixture.drainIssues().map(\.key) == ["meters"])
    }

    @Test(
        "After a conflict, a key with merge .append appends the local elements to the new value",
        arguments: BackendKind.allCases)
    func appending(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        changeInPlace(&one.recent) { recent in
            two.recent = ["x"]
            recent += ["a", "b"]
        }
        #expect(one.recent == ["x", "a", "b"])
        changeInPlace(&one.recent) { recent in
            two.remove(\.recent)
            recent.append("c")
        }
        #expect(one.recent == ["start", "c"])
        #expect(fixture.drainIssues() == [])
        changeInPlace(&one.recent) { recent in
            two.recent = ["y"]
            recent.removeFirst()
        }
        #expect(one.recent == ["y"], "merge .append cannot merge the removal of an element")
        #expect(fixture.drainIssues().map(\.error.isConflict) == [true])
    }

    @Test(
        "After a conflict, a set with merge .append adds the local elements to the new set",
        arguments: BackendKind.allCases)
    func sets(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one.tags = ["b"]
        changeInPlace(&one.tags) { tags in
            two.tags = ["c", "d"]
            tags.formUnion(["a", "c"])
        }
        #expect(one.tags == ["a", "c", "d"])
        #expect(one["tags"].array == ["a", "c", "d"], "a set is stored as an array in canonical order")
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "Without a merge rule, the value of the other program stays after a conflict, and an issue is reported",
        arguments: BackendKind.allCases)
    func withoutRule(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        changeInPlace(&one.launchCount) { count in
            two.launchCount = 10
            count += 5
        }
        #expect(one.launchCount == 10)
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["launchCount"] && issues.map(\.attempt) == [.write])
        #expect(issues.map(\.error.code) == [.preconditionFailed])
        one.launchCount += 1
        #expect(one.launchCount == 11)
    }

    @Test(
        "The message of a conflict contains the change of the other program and the remedy",
        arguments: BackendKind.allCases)
    func message(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one.libraries = ["a"]
        changeInPlace(&one.launchCount) { count in
            two.launchCount = 10
            count += 5
        }
        changeInPlace(&one.libraries) { libraries in
            two.remove(\.libraries)
            libraries.append("b")
        }
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["launchCount", "libraries"])
        for (issue, change) in zip(issues, ["from unset to 10", "from an array of 1 element to unset"]) {
            let text = issue.description
            #expect(text.contains("changed the value \(change)"), "\(text)")
            #expect(text.contains("update { }") && text.contains("merge:"), "\(text)")
        }
    }

    @Test("The message of a conflict about a secret contains no value", arguments: BackendKind.allCases, [false, true])
    func secrets(_ kind: BackendKind, hasSchema: Bool) throws {
        let schema = try Schema(of: ClientKeys.self) { \.token }
        let fixture = try kind.fixture(schema: hasSchema ? schema : nil)
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one.token = "aaaa"
        changeInPlace(&one.token) { token in
            two.token = "bbbb"
            token = "cccc"
        }
        #expect(one.token == "bbbb")
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["token"] && issues.map(\.error.isConflict) == [true])
        let text = issues.map(\.description).joined()
        #expect(text.contains("changed the value;"), "\(text)")
        for value in ["aaaa", "bbbb", "cccc"] { #expect(!text.contains(value), "\(text)") }
    }

    @Test(arguments: BackendKind.allCases)
    func `A secret that another program changed and changed back causes no conflict`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture(schema: try Schema(of: ClientKeys.self) { \.token })
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one.token = "a"
        changeInPlace(&one.token) { token in
            two.token = "b"
            two.token = "a"
            token? += "c"
        }
        #expect(one.token == "ac")
        // Here `two` stores another value, so `update` meets a conflict and runs its body again.
        try await one.update(\.token) { token in
            if token == "ac" { two.token = "d" }
            token? += "e"
        }
        #expect(one.token == "de")
        #expect(fixture.drainIssues() == [])
    }

    @Test(arguments: BackendKind.allCases)
    func `A value that another program changed and changed back causes no conflict`(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one.launchCount = 1
        changeInPlace(&one.launchCount) { count in
            two.launchCount = 2
            two.launchCount = 1
            count += 5
        }
        changeInPlace(&one.theme) { theme in
            two.theme = .dark
            two.remove(\.theme)
            theme = .dark
        }
        #expect(one.launchCount == 6 && one.theme == .dark)
        #expect(fixture.drainIssues() == [])
    }

    @Test("A change of another key causes no conflict", arguments: BackendKind.allCases)
    func otherKeys(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        changeInPlace(&one.launchCount) { count in
            two.loginTries = 10
            count += 5
        }
        #expect(one.launchCount == 5)
        #expect(fixture.drainIssues() == [])
    }

    @Test("Changes with a merge rule by eight threads in two programs are never lost", arguments: BackendKind.allCases)
    func counting(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let programs = [fixture.adapter(), fixture.adapter()]
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<30 {
                programs[thread % 2][\.visits] += 1
                if round % 10 == 0 { programs[thread % 2].recent.append("\(thread).\(round)") }
                if round % 10 == 5 { programs[thread % 2].tags.insert("\(thread).\(round)") }
            }
        }
        for program in programs {
            try await program.synchronize()
            #expect(program.visits == 240)
            // Each thread appends three elements, and the default of `recent` has one element.
            #expect(program.recent.count == 25 && Set(program.recent).count == 25)
            #expect(program.tags.count == 24)
        }
        #expect(fixture.drainIssues() == [])
    }

    @Test("Each change without a merge rule is either done or reported", arguments: BackendKind.allCases)
    func accounting(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let programs = [fixture.adapter(), fixture.adapter()]
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for _ in 0..<30 { programs[thread % 2][\.launchCount] += 1 }
        }
        try await programs[0].synchronize()
        let issues = fixture.drainIssues()
        #expect(programs[0].launchCount + issues.count == 240)
        #expect(issues.allSatisfy { $0.error.isConflict })
    }
}
