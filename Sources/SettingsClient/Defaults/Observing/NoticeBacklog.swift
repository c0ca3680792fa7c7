internal import SettingsModel

/// Notices that wait for somebody slow. It is bounded: beyond so many, of each key only the newest is kept, so what waits
/// is never more than twice the keys there are and those who observe, or the bound.
struct NoticeBacklog: Sendable {
    struct Item: Sendable {
        /// Whom it is for; nil for all who observe the key.
        let observer: UInt64?
        let notice: ObserverNotice
    }

    /// How many may wait before any are left out.
    static let usualBound = 1024

    private let bound: Int
    private var items: [Item] = []
    private var first = 0
    private var limit: Int

    init(bound: Int = usualBound) {
        self.bound = bound
        limit = bound
    }

    var count: Int { items.count - first }

    mutating func append(_ notice: ObserverNotice, for observer: UInt64? = nil) {
        if count >= limit { thinOut() }
        items.append(Item(observer: observer, notice: notice))
    }

    mutating func popFirst() -> Item? {
        guard first < items.count else { return nil }
        let item = items[first]
        first += 1
        // Only as often as there are as many to keep as to take away.
        if first == items.count || first >= Self.usualBound && first * 2 >= items.count {
            items.removeFirst(first)
            first = 0
        }
        return item
    }

    /// Takes away what is for one observer alone.
    mutating func removeAll(for observer: UInt64) {
        guard items[first...].contains(where: { $0.observer == observer }) else { return }
        items.removeFirst(first)
        first = 0
        items.removeAll { $0.observer == observer }
    }

    mutating func removeAll() {
        self = NoticeBacklog(bound: bound)
    }

    /// Keeps the newest of each key, in its place. Where somebody begins to observe is kept, as it says what is old.
    private mutating func thinOut() {
        var seen: Set<KeyName> = []
        var kept: [Item] = []
        for item in items[first...].reversed() {
            if case .saw(let setting) = item.notice, !seen.insert(setting.key).inserted { continue }
            kept.append(item)
        }
        items = kept.reversed()
        first = 0
        limit = max(bound, 2 * items.count)
    }
}
