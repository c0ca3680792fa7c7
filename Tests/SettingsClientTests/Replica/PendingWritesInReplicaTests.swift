import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Writes without an answer in the replica. A read shows them on top of the confirmed values.
@Suite(.ownThread)
struct PendingWritesInReplicaTests {
    private let suite: SuiteName
    private let key: KeyName
    private let other: KeyName
    /// The request keys of two writes.
    private let first: RequestKey
    private let second: RequestKey
    private var state = ReplicaState()

    init() throws {
        suite = try SuiteName("app")
        (key, other) = (try KeyName("k"), try KeyName("other"))
        first = try #require(RequestKey("first"))
        second = try #require(RequestKey("second"))
    }

    /// Returns the state of the suite at a revision.
    private func observed(_ revision: Int64, _ values: [KeyName: JSONValue]) throws -> ObservedState {
        let entries = values.sorted { $0.key < $1.key }.map { SuiteContents.Entry(key: $0.key, value: $0.value) }
        let contents = SuiteContents(suite: suite, schemaRevision: .zero, values: entries)
        return ObservedState(
            .one(contents),
            cursor: Cursor(epoch: try #require(Epoch("e")), revision: try #require(Revision(revision))))
    }

    private func operation(_ action: Transaction.Operation.Action, of key: KeyName? = nil) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key ?? self.key, action)
    }

    /// Returns the answer to a write at a revision. The values are nil for removed keys. Without values, the write has
    /// changed nothing.
    private func summary(_ revision: Int64, _ values: [KeyName: JSONValue?] = [:]) throws -> WriteSummary {
        let revision = try #require(Revision(revision))
        let changes = values.map { key, value in
            Change(
                suite: suite, key: key, old: nil, new: value, oldSource: .unset,
                source: value == nil ? .unset : .stored, revision: revision, modified: Timestamp(milliseconds: 0))
        }
        return WriteSummary(revision: revision, changed: !changes.isEmpty, changes: changes)
    }

    /// The value of `key` that a reader gets.
    private var value: JSONValue? { state.visible(key).value }

    @Test("An increment is applied to the confirmed value, even if the confirmed value arrives later")
    mutating func laterConfirmedValue() throws {
        state.beginWrite(first, [operation(.change(.add(1)))])
        // Without a confirmed value, the sum is unknown. Readers need not load the suite, because the program has
        // written the key (`isKnown`).
        #expect(value == nil && state.isKnown(key))
        state.beginWrite(second, [operation(.change(.add(10)))])
        state.adopt(try observed(5, [key: 5]))
        #expect(value == 16)
        state.acknowledge(first, [operation(.change(.add(1)))], try summary(6, [key: 6]))
        #expect(value == 16)
        state.acknowledge(second, [operation(.change(.add(10)))], try summary(7, [key: 16]))
        #expect(value == 16 && state.visible(key).revision == Revision(7))
    }

    @Test("A change in place before the suite is loaded shows the computed value until the suite is loaded")
    mutating func expectedValue() throws {
        // `expected` is the value that the program has computed from the default.
        state.beginWrite(first, [operation(.change(.add(1)))], expected: 1)
        #expect(value == 1 && state.isKnown(key))
        state.beginWrite(second, [operation(.change(.add(1)))], expected: 2)
        #expect(value == 2)
        state.adopt(try observed(5, [key: 40]))
        #expect(value == 42)
        state.rollBack(first, [operation(.change(.add(1)))])
        #expect(value == 41)
    }

    @Test("A change that a long poll delivers before the answer to its write is applied once")
    mutating func changeBeforeAnswer() throws {
        state.adopt(try observed(5, [key: 5]))
        state.beginWrite(first, [operation(.change(.add(1)))])
        state.apply(
            ObservedChanges(
                .one(schema: SuiteRevision(suite: suite, revision: .zero), isDropped: false),
                cursor: try observed(6, [:]).cursor, changes: try summary(6, [key: 6]).changes))
        #expect(value == 6)
        state.acknowledge(first, [operation(.change(.add(1)))], try summary(6, [key: 6]))
        #expect(value == 6)
    }

    @Test("An answer confirms all operations of its write on a key")
    mutating func severalOperations() throws {
        let operations = [operation(.set(1)), operation(.change(.add(1))), operation(.set("x"), of: other)]
        state.adopt(try observed(5, [:]))
        state.beginWrite(first, operations)
        state.beginWrite(second, [operation(.change(.add(1)))])
        #expect(value == 3 && state.visible(other).value == "x")
        state.acknowledge(first, operations, try summary(6, [key: 2, other: "x"]))
        #expect(value == 3)
        state.rollBack(second, [operation(.change(.add(1)))])
        #expect(value == 2 && state.visible(other).value == "x")
    }

    @Test("A refused removeAll shows the values again")
    mutating func refusedRemovalOfAll() throws {
        state.adopt(try observed(5, [key: "a"]))
        state.beginRemovalOfAll(first)
        #expect(value == nil)
        state.adopt(try observed(6, [key: "a", other: "b"]))
        #expect(state.visible(other).value == nil)
        state.endRemovalOfAll(first, nil)  // Nil: the daemon has refused the removal.
        #expect(value == "a" && state.visible(other).value == "b")
    }

    @Test("A removeAll after a removal by another program hides the old values until the replica has that removal")
    mutating func unchangedRemovalOfAll() throws {
        state.adopt(try observed(5, [key: "a"]))
        state.beginRemovalOfAll(first)
        state.endRemovalOfAll(first, try summary(8))
        #expect(value == nil)
        state.adopt(try observed(8, [:]))
        #expect(value == nil && state.entries.isEmpty)
    }

    @Test("The time per waiting write does not grow with the number of writes")
    mutating func many() throws {
        state.adopt(try observed(5, [key: 0]))
        let operations = [operation(.change(.add(1)))]
        let requestKeys = (0..<50_000).compactMap { RequestKey("a program with a long name-\($0)") }
        expectLinearTime {
            for requestKey in requestKeys { state.beginWrite(requestKey, operations) }
        }
        #expect(value == 50_000)
        try expectLinearTime {
            for (index, requestKey) in requestKeys.enumerated() {
                let revision = Int64(index + 6)
                state.acknowledge(requestKey, operations, try summary(revision, [key: .integer(Int64(index + 1))]))
                #expect(value == 50_000)
            }
        }
        #expect(state.visible(key).revision == Revision(50_005))
    }
}
