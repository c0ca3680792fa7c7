import Foundation
import TestSupport
import Testing

@testable import SettingsClient

/// Changes with a deadline. With `confirm(within:)`, the daemon reverts the change unless the change is confirmed in
/// time. With `until`, the daemon reverts the change at a given time. With `effective`, the daemon makes the change at
/// a given time.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct DeadlineTests {
    @Test(arguments: BackendKind.allCasesWithTCP)
    func `A change is reverted if it is not confirmed in time`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        try await defaults.set(\.launchCount, 1)
        try await defaults.ready()
        let updates = defaults.updates(of: \.launchCount)
        // The client rounds the duration up to one second, the minimum.
        let pending = try #require(try await defaults.set(\.launchCount, 2, .confirm(within: .milliseconds(900))))
        #expect(pending.id.hasPrefix("p") && pending.deadline.timeIntervalSinceNow < 60)
        var values: [Int] = []
        for await update in updates {
            values.append(update.newValue)
            if update.newValue == 1 { break }
        }
        #expect(values == [2, 1] && defaults.launchCount == 1)
        let ended = await #expect(throws: DefaultsError.self) { try await pending.confirm() }
        #expect(ended?.code == .pendingEnded && fixture.drainIssues() == [])
    }

    @Test(arguments: BackendKind.allCases)
    func `A pending action can be confirmed, reverted, extended or cancelled`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        let confirmed = try #require(try await defaults.set(\.launchCount, 1, .confirm(within: .seconds(3600))))
        #expect(defaults.launchCount == 1)
        let extended = try await confirmed.extend(to: .seconds(7200))
        #expect(extended.id == confirmed.id && extended.deadline > confirmed.deadline.addingTimeInterval(3000))
        try await extended.confirm()
        let tooLate = await #expect(throws: DefaultsError.self) { try await confirmed.revert() }
        #expect(tooLate?.code == .pendingEnded && defaults.launchCount == 1)

        let reverted = try #require(try await defaults.set(\.launchCount, 2, .until(.now + 3600)))
        // Only a scheduled change can be cancelled.
        let notScheduled = await #expect(throws: DefaultsError.self) { try await reverted.cancel() }
        #expect(notScheduled?.code == .invalidOperation && defaults.launchCount == 2)
        try await reverted.revert()
        #expect(defaults.launchCount == 1)

        let start = Date.now + 3600
        let scheduled = try #require(
            try await defaults.set(key: ClientKeys().launchCount, 3, .effective(start, until: start + 60)))
        #expect(abs(scheduled.deadline.timeIntervalSince(start)) < 0.01 && defaults.launchCount == 1)
        try await scheduled.cancel()
        let ended = await #expect(throws: DefaultsError.self) { try await scheduled.cancel() }
        #expect(ended?.code == .pendingEnded)
    }

    @Test(arguments: BackendKind.allCases)
    func `A write that changes nothing creates no pending action`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        try await defaults.set(\.launchCount, 1)
        #expect(try await defaults.set(\.launchCount, 1, .until(.seconds(3600))) == nil)
        #expect(try await defaults.transaction(.until(.seconds(3600))) { _ in } == nil)
        try await defaults.set(\.launchCount, 2)
        #expect(try await defaults.history(of: \.launchCount).count == 2)
    }

    @Test(arguments: BackendKind.allCases)
    func `A scheduled change is made at its time, and can then be reverted`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        try await defaults.ready()
        let updates = defaults.player.updates(of: \.volume)
        let pending = try #require(
            try await defaults.player.set(\.volume, 0.1, .effective(.now + 3600, until: .now + 7200)))
        #expect(defaults.player.volume == 0.5)
        try await pending.extend(to: .seconds(1))
        for await update in updates {
            #expect(update.newValue == 0.1)
            break
        }
        try await pending.revert()
        #expect(defaults.player.volume == 0.5 && !defaults.player.isSet(\.volume))
    }

    /// Deadlines that the daemon refuses, and the header field that the error names.
    private static let refusedDeadlines: [(DefaultsDeadline, field: String)] = [
        (.confirm(within: .zero), "Settings-Confirm"), (.confirm(within: .seconds(86_401)), "Settings-Confirm"),
        (.until(.distantPast), "Settings-Until"), (.until(.zero), "Settings-Until"),
        (.until(.seconds(-5)), "Settings-Until"), (.until(.seconds(1 << 40)), "Settings-Until"),
        (.until(.distantFuture), "Settings-Until"), (.effective(.distantPast), "Settings-Effective"),
        (.effective(.now + 60, until: .now + 30), "Settings-Until"),
    ]

    @Test(arguments: BackendKind.allCases)
    func `A write with a refused deadline throws an error and changes nothing`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        for (deadline, field) in Self.refusedDeadlines {
            let error = await #expect(throws: DefaultsError.self) { try await defaults.set(\.launchCount, 1, deadline) }
            #expect(error?.code == .badRequest && "\(error as Any)".contains(field), "\(deadline)")
        }
        let invalid = await #expect(throws: DefaultsError.self) {
            try await defaults.set(\.volume, 2, .until(.seconds(60)))
        }
        guard case .invalid = invalid else {
            Issue.record("the error is \(invalid as Any)")
            return
        }
        #expect(try await defaults.history().isEmpty && fixture.drainIssues() == [])
    }

    @Test(arguments: BackendKind.allCases)
    func `A transaction with a deadline is one commit, which is reverted as a whole`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        try await defaults.set(\.username, "me")
        let pending = try #require(
            try await defaults.transaction(.confirm(within: .seconds(3600))) { settings in
                settings.launchCount += 1
                settings.unset(\.username)
            })
        #expect(defaults.launchCount == 1 && defaults.username == nil)
        #expect(try await Set(defaults.history().prefix(2).map(\.revision)).count == 1)
        try await pending.revert()
        #expect(defaults.launchCount == 0 && defaults.username == "me" && !defaults.isSet(\.launchCount))
    }

    @Test(arguments: BackendKind.allCases)
    func `A transaction with a deadline runs again after a conflict`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, other) = (fixture.adapter(), fixture.adapter())
        try await defaults.ready()
        var runs = 0
        try await defaults.transaction(.until(.seconds(3600))) { settings in
            let count = settings.launchCount
            runs += 1
            if runs == 1 { other.launchCount = 7 }
            settings.launchCount = count + 1
        }
        #expect(runs == 2 && defaults.launchCount == 8)
    }

    /// The client does not send a restore later, either. The backend reports "nobody answers" while its server is
    /// unreachable.
    @Test func `A change with a deadline fails while an earlier write waits, and is not sent later`() async throws {
        let (defaults, backend) = try BackendKind.memory.fixture().interruptibleAdapter(ClientKeys())
        try await defaults.ready()
        backend.isServerUnreachable = true
        let unsent = await #expect(throws: DefaultsError.self) {
            try await defaults.set(\.theme, .dark, .until(.seconds(60)))
        }
        #expect(unsent == .unreachable("nobody answers") && defaults.theme == .light)
        // This write waits in the queue of the session, because it has no deadline.
        await #expect(throws: DefaultsError.self) { try await defaults.set(\.launchCount, 1) }
        for attempt in [
            { _ = try await defaults.set(\.theme, .dark, .until(.seconds(60))) },
            { _ = try await defaults.transaction(.until(.seconds(60))) { $0.theme = .dark } },
            { _ = try await defaults.restore(to: .revision(0)) },
        ] as [@Sendable () async throws -> Void] {
            let error = await #expect(throws: DefaultsError.self) { try await attempt() }
            guard case .unreachable(let reason) = error, reason.contains("an earlier write waits") else {
                Issue.record("the error is \(error as Any)")
                continue
            }
        }
        backend.isServerUnreachable = false
        try await defaults.flush()
        try await defaults.set(\.launchCount, 2)
        try await defaults.synchronize()
        #expect(defaults.theme == .light && defaults.launchCount == 2)
        #expect(try await defaults.history().map(\.key) == ["launchCount", "launchCount"])
    }
}
