import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// Limits on values that grow by operations in place, such as appending to a text.
@Suite(.ownThread)
struct GrowthTests {
    /// A state in which the suite `app` has the key `k` with a value.
    private func state(holding value: JSONValue) throws -> State {
        var state = State(epoch: try #require(Epoch("e0")))
        let put = WriteRequest(.setting(try operation(.set(value))))
        try state.apply(try #require(try Self.decide(put, on: state).commit))
        return state
    }

    private func operation(_ action: Transaction.Operation.Action) throws -> Transaction.Operation {
        Transaction.Operation(suite: try SuiteName("app"), key: try KeyName("k"), action)
    }

    private static func decide(_ request: WriteRequest, on state: State) throws(Problem) -> WriteDecision {
        try state.decide(
            request, revision: state.revision.advanced(by: 1) ?? .zero, time: Timestamp(milliseconds: 1))
    }

    @Test("Appending to a text is refused if the text would exceed the maximum size of a body, 16 MiB")
    func concatenation() throws {
        let mebibyte = String(repeating: "x", count: 1 << 20)
        let state = try state(holding: .string(String(repeating: "x", count: 15 << 20)))
        let fits = WriteRequest(.setting(try operation(.change(.concat(mebibyte)))))
        #expect(throws: Never.self) { _ = try Self.decide(fits, on: state) }
        let tooLong = WriteRequest(.setting(try operation(.change(.concat(mebibyte + mebibyte)))))
        let problem = #expect(throws: Problem.self) { _ = try Self.decide(tooLong, on: state) }
        #expect(problem?.code == .invalidOperation)
    }

    @Test("A transaction may build a value of 8 MiB ten times, but not 10,000 times")
    func repetition() throws {
        let state = try state(holding: .string(String(repeating: "x", count: 8 << 20)))
        let concat = try operation(.change(.concat("y")))
        let few = WriteRequest(.transaction(Transaction(do: Array(repeating: concat, count: 10))))
        #expect(throws: Never.self) { _ = try Self.decide(few, on: state) }
        let many = WriteRequest(.transaction(Transaction(do: Array(repeating: concat, count: 10_000))))
        let problem = #expect(throws: Problem.self) { _ = try Self.decide(many, on: state) }
        #expect(problem?.status == 422)
    }
}
