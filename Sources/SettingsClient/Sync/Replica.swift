internal import SettingsModel
internal import Synchronization

/// A suite as the program sees it: what the daemon confirmed up to a place in history, and the program's own writes that
/// are under way. It never goes back.
final class Replica: Sendable {
    private let shared = Mutex(Shared())

    private struct Shared {
        var state = ReplicaState()
        var listeners: [UInt64: @Sendable ([ReplicaNews]) -> Void] = [:]
        var nextListener: UInt64 = 0
        /// Whether somebody is telling the news; whoever has more leaves it to them, so that order is kept.
        var isTelling = false
    }

    func visible(_ key: KeyName) -> VisibleSetting {
        shared.withLock { $0.state.visible(key) }
    }

    /// Several keys as they are at one time.
    func visible(_ keys: [KeyName]) -> [KeyName: VisibleSetting] {
        shared.withLock { shared in
            Dictionary(keys.map { ($0, shared.state.visible($0)) }, uniquingKeysWith: { $1 })
        }
    }

    func isKnown(_ key: KeyName) -> Bool {
        shared.withLock { $0.state.isKnown(key) }
    }

    func cell(for key: KeyName) -> KeyCell {
        shared.withLock { $0.state.cell(for: key) }
    }

    /// Lends a cell to somebody who does not keep it.
    func withCell<Result, Failure: Error>(
        for key: KeyName, _ body: (KeyCell) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // When this is left, the cell is let go of.
        defer { shared.withLock { $0.state.forget(key) } }
        return try body(cell(for: key))
    }

    /// The schema in force, as far as it was told.
    var schema: SchemaPlace? {
        shared.withLock { $0.state.schema }
    }

    /// The place in history up to which everything was told.
    var cursor: Cursor? {
        shared.withLock { $0.state.cursor }
    }

    /// The keys that have or had something.
    var keys: [KeyName] {
        shared.withLock { Array($0.state.entries.keys) }
    }

    func leavesOpen(_ summary: WriteSummary, removalOf keys: [KeyName]?) -> Bool {
        shared.withLock { $0.state.leavesOpen(summary, removalOf: keys) }
    }

    /// Changes the state, then tells those who listen, outside the lock.
    func change<Result: Sendable>(_ body: (inout ReplicaState) -> Result) -> Result {
        let (result, isTeller) = shared.withLock { shared in
            let result = body(&shared.state)
            if shared.listeners.isEmpty { shared.state.news.removeAll() }
            let isTeller = !shared.state.news.isEmpty && !shared.isTelling
            if isTeller { shared.isTelling = true }
            return (result, isTeller)
        }
        if isTeller { tell() }
        return result
    }

    /// Calls the handler with all that changes for readers from here on, in order, until the number it returns is given
    /// to ``stopListening(_:)``. What happened just before may be told, too. The handler hands over to its own queue: a
    /// write may be under way around it.
    func listenForNews(_ handler: @escaping @Sendable ([ReplicaNews]) -> Void) -> UInt64 {
        shared.withLock { shared in
            shared.nextListener += 1
            shared.listeners[shared.nextListener] = handler
            return shared.nextListener
        }
    }

    func stopListening(_ listener: UInt64) {
        shared.withLock { $0.listeners[listener] = nil }
    }

    /// How many listen.
    var listenerCount: Int {
        shared.withLock { $0.listeners.count }
    }

    private func tell() {
        while true {
            let (news, listeners) = shared.withLock { shared in
                let news = shared.state.news
                shared.state.news.removeAll()
                if news.isEmpty { shared.isTelling = false }
                return (news, shared.listeners.sorted { $0.key < $1.key }.map(\.value))
            }
            guard !news.isEmpty else { return }
            for listener in listeners { listener(news) }
        }
    }
}

extension Replica {
    func apply(_ observation: SettingsObservation) {
        change { state in
            switch observation {
            case .state(let told): state.adopt(told)
            case .changes(let changes): state.apply(changes)
            }
        }
    }

    /// What must still hold for a change that was computed from this value to be done: the revision, where it is known,
    /// else the value itself.
    func guardTest(for key: KeyName, base: JSONValue?) -> Transaction.Condition.Test {
        let visible = visible(key)
        if let revision = visible.revision, visible.value == base { return .revision(revision) }
        return base.map { .value($0) } ?? .stored(false)
    }
}
