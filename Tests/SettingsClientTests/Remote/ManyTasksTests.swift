import ClientTestSupport
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Setters in tasks. A setter blocks its thread, which is one of the few threads that all tasks share.
@Suite(.ownThread)
struct ManyTasksTests {
    @Test(arguments: ServedDaemon.Transport.allCases)
    func `Eight tasks that call setters at the same time do not deadlock`(
        transport: ServedDaemon.Transport
    ) async throws {
        let daemon = try ServedDaemon()
        let fixture = SuiteFixture(at: try daemon.address(transport), try SuiteName("app"))
        let programs = [fixture.adapter(), fixture.adapter()]
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    let defaults = programs[task % 2]
                    for round in 0..<50 {
                        defaults["task\(task)"] = round
                        #expect(defaults["task\(task)"].int == round)
                        defaults.visits += 1
                    }
                    // `update` suspends and returns its thread to the pool, while setters of other tasks block their
                    // threads.
                    for _ in 0..<10 { try? await defaults.update(\.launchCount) { $0 += 1 } }
                }
            }
        }
        for program in programs {
            try await program.synchronize()
            // Each of the eight tasks has made 50 increments and 10 updates.
            #expect(program.visits == 400 && program.launchCount == 80)
            for task in 0..<8 { #expect(program["task\(task)"].int == 49) }
        }
        #expect(fixture.drainIssues() == [])
    }
}
