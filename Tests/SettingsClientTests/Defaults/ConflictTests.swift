import Dispatch
import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

@Suite(.ownThread)
struct ConflictTests {
    @Test("A sum adds what was added to what is there by then", arguments: Place.allCases)
    func sums(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        change(&one[\.visits]) { visits in
            two[\.visits] = 10
            visits += 5
        }
        #expect(one.visits == 15)
        change(&one[\.visits]) { visits in
            two.remove(\.visits)
            visits -= 1
        }
        #expect(one.visits == -1, "the start is the default again")
        change(&one.meters) { meters in
            two.meters = 1.5
            meters += 2
        }
        #expect(one.meters == 3.5)
        #expect(world.takeIssues() == [])
    }

    @Test("A sum that leaves the key's limits is refused", arguments: Place.allCases)
    func sumBeyondLimits(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        change(&one.meters) { meters in
            two.meters = 99
            meters += 2
        }
        #expect(one.meters == 99)
        #expect(world.takeIssues().map(\.key) == ["meters"])
    }

    @Test("What was appended is appended to what is there by then", arguments: Place.allCases)
    func appending(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        change(&one.recent) { recent in
            two.recent = ["x"]
            recent += ["a", "b"]
        }
        #expect(one.recent == ["x", "a", "b"])
        change(&one.recent) { recent in
            two.remove(\.recent)
            recent.append("c")
        }
        #expect(one.recent == ["start", "c"])
        #expect(world.takeIssues() == [])
        change(&one.recent) { recent in
            two.recent = ["y"]
            recent.removeFirst()
        }
        #expect(one.recent == ["y"], "taking away is not appending")
        #expect(world.takeIssues().map(\.error.isConflict) == [true])
    }

    @Test("New elements of a set join those that are there by then", arguments: Place.allCases)
    func sets(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        one.tags = ["b"]
        change(&one.tags) { tags in
            two.tags = ["c", "d"]
            tags.formUnion(["a", "c"])
        }
        #expect(one.tags == ["a", "c", "d"])
        #expect(one["tags"].array == ["a", "c", "d"], "in canonical order")
        #expect(world.takeIssues() == [])
    }

    @Test("Without a rule the other's value is kept, and the loss is reported", arguments: Place.allCases)
    func withoutRule(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        change(&one.launchCount) { count in
            two.launchCount = 10
            count += 5
        }
        #expect(one.launchCount == 10)
        let issues = world.takeIssues()
        #expect(issues.map(\.key) == ["launchCount"] && issues.map(\.attempt) == [.write])
        #expect(issues.map(\.error.code) == [.preconditionFailed])
        one.launchCount += 1
        #expect(one.launchCount == 11)
    }

    @Test("The conflict says from what to what the value changed, and what to do", arguments: Place.allCases)
    func message(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        one.libraries = ["a"]
        change(&one.launchCount) { count in
            two.launchCount = 10
            count += 5
        }
        change(&one.libraries) { libraries in
            two.remove(\.libraries)
            libraries.append("b")
        }
        let issues = world.takeIssues()
        #expect(issues.map(\.key) == ["launchCount", "libraries"])
        for (issue, change) in zip(issues, ["from unset to 10", "from an array of 1 element to unset"]) {
            let text = issue.description
            #expect(text.contains("changed the value \(change)"), "\(text)")
            #expect(text.contains("update { }") && text.contains("merge:"), "\(text)")
        }
    }

    @Test("The conflict has no value of a secret", arguments: Place.allCases, [false, true])
    func secrets(_ place: Place, hasSchema: Bool) throws {
        let schema = try Schema(of: ClientKeys.self) { \.token }
        let world = try place.world(schema: hasSchema ? schema : nil)
        let (one, two) = (world.adapter(), world.adapter())
        one.token = "aaaa"
        change(&one.token) { token in
            two.token = "bbbb"
            token = "cccc"
        }
        #expect(one.token == "bbbb")
        let issues = world.takeIssues()
        #expect(issues.map(\.key) == ["token"] && issues.map(\.error.isConflict) == [true])
        let text = issues.map(\.description).joined()
        #expect(text.contains("changed the value;"), "\(text)")
        for value in ["aaaa", "bbbb", "cccc"] { #expect(!text.contains(value), "\(text)") }
    }

    @Test("Of a secret, too, a value that went there and back is no conflict", arguments: Place.allCases)
    func secretThereAndBack(_ place: Place) async throws {
        let world = try place.world(schema: try Schema(of: ClientKeys.self) { \.token })
        let (one, two) = (world.adapter(), world.adapter())
        one.token = "a"
        change(&one.token) { token in
            two.token = "b"
            two.token = "a"
            token? += "c"
        }
        #expect(one.token == "ac")
        try await one.update(\.token) { token in
            if token == "ac" { two.token = "d" }
            token? += "e"
        }
        #expect(one.token == "de")
        #expect(world.takeIssues() == [])
    }

    @Test("A value that went there and back is no conflict", arguments: Place.allCases)
    func thereAndBack(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        one.launchCount = 1
        change(&one.launchCount) { count in
            two.launchCount = 2
            two.launchCount = 1
            count += 5
        }
        change(&one.theme) { theme in
            two.theme = .dark
            two.remove(\.theme)
            theme = .dark
        }
        #expect(one.launchCount == 6 && one.theme == .dark)
        #expect(world.takeIssues() == [])
    }

    @Test("A change of another key is no conflict", arguments: Place.allCases)
    func otherKeys(_ place: Place) throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        change(&one.launchCount) { count in
            two.loginTries = 10
            count += 5
        }
        #expect(one.launchCount == 5)
        #expect(world.takeIssues() == [])
    }

    @Test("Counting with .sum loses nothing, from eight threads in two programs", arguments: Place.allCases)
    func counting(_ place: Place) async throws {
        let world = try place.world()
        let programs = [world.adapter(), world.adapter()]
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
            #expect(program.recent.count == 25 && Set(program.recent).count == 25)
            #expect(program.tags.count == 24)
        }
        #expect(world.takeIssues() == [])
    }

    @Test("Every change without a rule is done or reported", arguments: Place.allCases)
    func accounting(_ place: Place) async throws {
        let world = try place.world()
        let programs = [world.adapter(), world.adapter()]
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for _ in 0..<30 { programs[thread % 2][\.launchCount] += 1 }
        }
        try await programs[0].synchronize()
        let issues = world.takeIssues()
        #expect(programs[0].launchCount + issues.count == 240)
        #expect(issues.allSatisfy { $0.error.isConflict })
    }
}
