import Testing

@testable import SettingsAPI
@testable import SettingsClient

/// The report of a program about the state that it has applied or could not apply. The tests use no threads.
struct ApplyingStateTests {
    /// The handlers of each state. They never return by themselves; the tests call `endHandlers()`.
    private let handlers = HandlerGroup(count: 1) {}
    /// Four revisions of the epoch `e`, and a later state in another epoch.
    private let states: [Cursor]

    init() throws {
        states = try ["e.0", "e.1", "e.2", "e.3", "f.1"].map { try #require(Cursor($0)) }
    }

    /// Records a change of the replica at a state, and begins and ends the handlers of this state.
    private func apply(_ cursor: Cursor, _ applying: inout ApplyingState) {
        applying.recordChange(at: cursor)
        _ = applying.beginHandlers(of: cursor, handlers)
        applying.endHandlers()
    }

    @Test("The handlers of a state begin only when the handlers of the state before it have returned")
    func order() {
        var applying = ApplyingState()
        let isRecorded = applying.recordFailure("early")
        #expect(applying.report == ClientReport() && !isRecorded, "a failure before the first change is ignored")
        applying.recordChange(at: states[1])
        let hasBegun = [states[1], states[2]].map { applying.beginHandlers(of: $0, handlers) }
        #expect(hasBegun == [true, false] && applying.report == ClientReport())
        applying.endHandlers()
        #expect(applying.report == ClientReport(applied: states[1]) && !applying.isApplied(states[2]))
        let beginsNext = applying.beginHandlers(of: states[2], handlers)
        #expect(beginsNext)
    }

    @Test("A failure while handlers run belongs to the state of the handlers, and ends when a later change is applied")
    func failureInHandler() {
        var applying = ApplyingState()
        apply(states[1], &applying)
        applying.recordChange(at: states[2])
        _ = applying.beginHandlers(of: states[2], handlers)
        applying.recordChange(at: states[3])
        _ = applying.recordFailure("no")
        let report = ClientReport(applied: states[1], failed: states[2], reason: "no")
        #expect(applying.report == report)
        applying.endHandlers()
        #expect(applying.report == report)
        // After a failure of the next state, `e.3`, the last applied state is still `e.1`, because `e.2` has failed,
        // too.
        _ = applying.beginHandlers(of: states[3], handlers)
        _ = applying.recordFailure("again")
        #expect(applying.report == ClientReport(applied: states[1], failed: states[3], reason: "again"))
        applying.endHandlers()
        apply(states[4], &applying)
        #expect(applying.report == ClientReport(applied: states[4]))
    }

    @Test("A failure after the handlers have returned replaces the report that the state is applied")
    func failureAfterHandlers() {
        var applying = ApplyingState()
        apply(states[2], &applying)
        _ = applying.recordFailure("no")
        // No state before `e.2` was applied, so the report says that the beginning of the epoch (`e.0`) is applied.
        #expect(applying.report == ClientReport(applied: states[0], failed: states[2], reason: "no"))
        // A later cursor without a change of the suite does not end the failure.
        _ = applying.beginHandlers(of: states[3], handlers)
        applying.endHandlers()
        #expect(applying.report == ClientReport(applied: states[0], failed: states[2], reason: "no"))
        apply(states[4], &applying)
        #expect(applying.report == ClientReport(applied: states[4]))
    }

    @Test("Any text except the empty text gives a client name of at most 128 bytes; a reason has at most 1,024 bytes")
    func texts() throws {
        // A client name has no control characters, and `é` has two bytes.
        #expect(ClientName(anyText: "") == nil)
        #expect(ClientName(anyText: "a\tb\u{85}c")?.text == "a-b-c")
        #expect(ClientName(anyText: String(repeating: "é", count: 100))?.text == String(repeating: "é", count: 64))
        let report = ClientReport(failed: states[1], shortening: "x" + String(repeating: "é", count: 600))
        #expect(report.reason == "x" + String(repeating: "é", count: 511))
    }
}
