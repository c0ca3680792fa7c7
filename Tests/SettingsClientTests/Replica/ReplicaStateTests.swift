import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The replica: the last known state of the suite, with the unconfirmed writes of the program on top.
@Suite(.ownThread)
struct ReplicaStateTests {
    private let suite: SuiteName
    private let key: KeyName
    private var state = ReplicaState()
    /// The number of writes that the test has begun.
    private var writeCount = 0

    init() throws {
        suite = try SuiteName("app")
        key = try KeyName("k")
    }

    private func cursor(_ revision: Int64, _ epoch: String = "e") throws -> Cursor {
        Cursor(epoch: try #require(Epoch(epoch)), revision: try #require(Revision(revision)))
    }

    /// Returns the state of the suite at a revision. The suite has only the value of `key`.
    private func observed(
        _ revision: Int64, _ value: JSONValue?, epoch: String = "e", schema: Revision = .zero, isReset: Bool = false
    ) throws -> ObservedState {
        let values = value.map { [SuiteContents.Entry(key: key, value: $0)] } ?? []
        let contents = SuiteContents(suite: suite, schemaRevision: schema, values: values)
        return ObservedState(.one(contents), cursor: try cursor(revision, epoch), isReset: isReset)
    }

    /// Returns a change of `key`. The value is nil for a removal.
    private func change(_ revision: Int64, _ value: JSONValue?) throws -> Change {
        Change(
            suite: suite, key: key, old: nil, new: value, oldSource: .unset, source: value == nil ? .unset : .stored,
            revision: try #require(Revision(revision)), modified: Timestamp(milliseconds: 0))
    }

    /// Returns the changes up to a revision.
    private func changes(_ revision: Int64, _ changes: Change...) throws -> ObservedChanges {
        ObservedChanges(
            .one(schema: SuiteRevision(suite: suite, revision: .zero), isDropped: false),
            cursor: try cursor(revision), changes: changes)
    }

    /// Returns the answer to a write at a revision. Without changes, the write has changed nothing.
    private func summary(_ revision: Int64, _ changes: Change...) throws -> WriteSummary {
        WriteSummary(revision: try #require(Revision(revision)), changed: !changes.isEmpty, changes: changes)
    }

    /// Returns the operations of a write that stores a value for `key`.
    private func set(_ value: JSONValue) -> [Transaction.Operation] {
        [Transaction.Operation(suite: suite, key: key, .set(value))]
    }

    /// Begins a write, and returns its request key.
    private mutating func begin(_ operations: [Transaction.Operation]) throws -> RequestKey {
        writeCount += 1
        let requestKey = try #require(RequestKey("write \(writeCount)"))
        state.beginWrite(requestKey, operations)
        return requestKey
    }

    /// The value of `key` that a reader gets.
    private var value: JSONValue? { state.visible(key).value }

    @Test("Changes are applied once and in order, and an older state or change is ignored")
    mutating func order() throws {
        state.adopt(try observed(5, "a"))
        #expect(value == "a" && state.visible(key).source == .stored)
        state.apply(try changes(7, change(6, "b"), change(7, "c")))
        #expect(value == "c" && state.visible(key).revision == Revision(7))
        state.apply(try changes(7, change(6, "b")))
        state.adopt(try observed(6, "b"))
        #expect(try value == "c" && state.cursor == cursor(7))
        state.apply(try changes(8, change(8, nil)))
        #expect(value == nil && state.visible(key).source == .unset)
    }

    @Test("A state that the replica ignores does not end the failure of an earlier state")
    func ignoredState() throws {
        let session = SuiteSession(InMemoryBackend(suite: suite))
        let listener = session.addListener { _ in }
        defer { session.removeListener(listener) }
        /// Ends the handlers of the state, and waits until the session has recorded their end.
        func endHandlers(_ revision: Int64) throws {
            session.runningHandlers?.leave()
            let cursor = try cursor(revision)
            try eventually { session.state.withLock { $0.applying.isApplied(cursor) } }
        }
        session.apply(.state(try observed(2, "a")))
        try endHandlers(2)
        session.reportFailure("no")
        session.apply(.changes(try changes(5)))
        session.apply(.state(try observed(3, "b")))
        try endHandlers(5)
        #expect(try session.state.withLock { $0.applying.report.failed } == cursor(2))
    }

    @Test("The source of a value is unknown in a suite with a schema until the setting is read")
    mutating func sources() throws {
        state.adopt(try observed(5, "a", schema: #require(Revision(2))))
        #expect(state.visible(key).source == nil)
        // The answer to a read. The replica has no revision for the setting, so it records the source.
        let setting = SettingState(
            suite: suite, key: key, value: "a", source: .default, revision: .zero, modified: nil)
        state.record(setting, replacesKnownRevision: false)
        #expect(state.visible(key).source == .default)
    }

    @Test("A write of the program is visible at once, and older changes do not hide the write")
    mutating func ownWrites() throws {
        state.adopt(try observed(5, "a"))
        let requestKey = try begin(set("mine"))
        #expect(value == "mine")
        state.apply(try changes(6, change(6, "other")))
        #expect(value == "mine")
        state.acknowledge(requestKey, set("mine"), try summary(8, change(8, "mine")))
        #expect(value == "mine")
        state.apply(try changes(7, change(7, "late")))
        #expect(value == "mine", "the change at revision 7 is older than the write")
        state.adopt(try observed(7, "late"))
        #expect(value == "mine")
        state.apply(try changes(9, change(8, "mine"), change(9, "newer")))
        #expect(value == "newer")
    }

    @Test("After a refused write, the value of the earlier write is visible")
    mutating func refused() throws {
        state.adopt(try observed(5, "a"))
        let first = try begin(set("first"))
        let second = try begin(set("second"))
        #expect(value == "second")
        state.rollBack(second, set("second"))
        #expect(value == "first")
        state.rollBack(first, set("first"))
        #expect(value == "a")
    }

    @Test("The value of a write that changed nothing stays visible until the replica has the revision of the answer")
    mutating func unchanged() throws {
        state.adopt(try observed(5, "a"))
        let requestKey = try begin(set("b"))
        state.acknowledge(requestKey, set("b"), try summary(7))
        #expect(value == "b", "another program stored b at revision 7 or before")
        state.apply(try changes(6, change(6, "x")))
        #expect(value == "b")
        state.apply(try changes(7, change(7, "b")))
        #expect(value == "b")
        state.apply(try changes(8, change(8, "c")))
        #expect(value == "c")
    }

    @Test("A write that changed nothing does not hide a newer value")
    mutating func unchangedAndNewer() throws {
        state.adopt(try observed(5, "a"))
        let first = try begin(set("b"))
        state.acknowledge(first, set("b"), try summary(7))
        let removal = [Transaction.Operation(suite: suite, key: key, .delete)]
        let second = try begin(removal)
        state.acknowledge(second, removal, try summary(8, change(8, nil)))
        #expect(value == nil)
        let (third, fourth) = (try begin(set("b")), try begin(set("c")))
        state.acknowledge(fourth, set("c"), try summary(10, change(10, "c")))
        state.acknowledge(third, set("b"), try summary(9))
        #expect(value == "c")
        let fifth = try begin(set("c"))
        state.acknowledge(fifth, set("c"), try summary(11))
        let current = SettingState(
            suite: suite, key: key, value: "d", source: .stored, revision: try #require(Revision(12)), modified: nil)
        // The current setting from the refusal of a write.
        state.record(current, replacesKnownRevision: true)
        #expect(value == "d")
    }

    @Test("After answers out of order, the write with the later revision is visible", arguments: [9, 11])
    mutating func otherOrder(firstRevision: Int64) throws {
        state.adopt(try observed(5, "a"))
        let (one, two) = (try begin(set("1")), try begin(set("2")))
        #expect(value == "2")
        state.acknowledge(two, set("2"), try summary(10, change(10, "2")))
        #expect(value == "2", "the revision of the first write is not known yet")
        state.acknowledge(one, set("1"), try summary(firstRevision, change(firstRevision, "1")))
        #expect(value == (firstRevision > 10 ? "1" : "2"))
        #expect(state.entries[key]?.pending.isEmpty == true)
        #expect(state.visible(key).revision == Revision(max(firstRevision, 10)))
    }

    @Test("An answered write does not hide a newer value after the refusal of the write before it")
    mutating func otherOrderRefused() throws {
        state.adopt(try observed(5, "a"))
        let (one, two) = (try begin(set("1")), try begin(set("2")))
        state.acknowledge(two, set("2"), try summary(10, change(10, "2")))
        state.apply(try changes(12, change(12, "x")))
        state.rollBack(one, set("1"))
        #expect(value == "x" && state.entries[key]?.pending.isEmpty == true)
    }

    @Test("The replica retains at most one write that changed nothing")
    mutating func manyUnchanged() throws {
        state.adopt(try observed(5, "a"))
        for number in 0..<100 {
            let requestKey = try begin(set("a"))
            state.acknowledge(requestKey, set("a"), try summary(100 + Int64(number % 3)))
            #expect(value == "a" && state.entries[key]?.pending.count == 1)
        }
        state.apply(try changes(102))
        #expect(value == "a" && state.entries[key]?.pending.isEmpty == true)
    }

    @Test("Of two writes that changed nothing, the write with the later revision is visible")
    mutating func unchangedInOtherOrder() throws {
        state.adopt(try observed(5, "a"))
        let (one, two) = (try begin(set("1")), try begin(set("2")))
        state.acknowledge(two, set("2"), try summary(10))
        state.acknowledge(one, set("1"), try summary(12))
        #expect(value == "1")
        state.apply(try changes(12, change(9, "2"), change(11, "1")))
        #expect(value == "1" && state.entries[key]?.pending.isEmpty == true)
    }

    @Test("The removal of a key that has only a default announces no change to observers")
    mutating func removedDefault() throws {
        state.adopt(try observed(5, "a", schema: #require(Revision(2))))
        let setting = SettingState(
            suite: suite, key: key, value: "a", source: .default, revision: .zero, modified: nil)
        state.record(setting, replacesKnownRevision: false)
        // Discards the changes that the lines above have announced.
        state.events = []
        let removal = [Transaction.Operation(suite: suite, key: key, .delete)]
        let requestKey = try begin(removal)
        state.acknowledge(requestKey, removal, try summary(9))
        #expect(value == "a" && state.visible(key).source == .default && state.events.isEmpty)
    }

    @Test("A reset replaces all entries, even if it has another epoch")
    mutating func resets() throws {
        state.adopt(try observed(5, "a"))
        let requestKey = try begin(set("b"))
        state.acknowledge(requestKey, set("b"), try summary(9, change(9, "b")))
        state.adopt(try observed(8, "x"))
        #expect(value == "b")
        state.adopt(try observed(12, nil))
        #expect(value == nil)
        state.adopt(try observed(30, "requested", epoch: "f"))
        #expect(value == nil, "only a state with isReset changes the epoch")
        state.adopt(try observed(3, "restored", epoch: "f", isReset: true))
        #expect(value == "restored")
        state.apply(try changes(20, change(20, "old epoch")))
        #expect(value == "restored")
        state.apply(
            ObservedChanges(
                .one(schema: SuiteRevision(suite: suite, revision: .zero), isDropped: false),
                cursor: try cursor(4, "f"), changes: [try change(4, "new")]))
        #expect(value == "new")
    }

    @Test("A key without a value has no entry")
    mutating func memory() throws {
        state.adopt(try observed(5, "a"))
        state.apply(try changes(6, change(6, nil)))
        #expect(state.entries.isEmpty)
        state.apply(try changes(6, change(5, "old")))
        #expect(value == nil)
    }
}
