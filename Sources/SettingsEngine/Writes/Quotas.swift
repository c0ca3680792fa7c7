internal import SettingsAPI
internal import SettingsModel

/// The quotas of what is stored. A write that would exceed one by adding to it is refused; one that only takes away never
/// is, also where more is stored than a quota allows since it was lowered.
///
/// Bytes are those of memory, about, as `MemorySize` counts them.
package struct Quotas: Equatable, Sendable {
    package var suites = 100_000
    /// The keys of a suite that have a value or are listed by its schema.
    package var keysPerSuite = 1_000_000
    package var valueBytes = 64 << 20
    package var suiteBytes = 256 << 20
    package var totalBytes = 384 << 20

    package init() {}

    /// Quotas that nothing exceeds.
    package static let none = {
        var quotas = Quotas()
        (quotas.suites, quotas.keysPerSuite) = (.max, .max)
        (quotas.valueBytes, quotas.suiteBytes, quotas.totalBytes) = (.max, .max, .max)
        return quotas
    }()
}

/// By how much a commit adds to what all suites hold together.
struct StoredGrowth: Sendable {
    var suites = 0
    var bytes = 0
}

extension Quotas {
    /// Throws if a commit would exceed the quota of all suites by adding to it.
    ///
    /// - Parameter reader: the grants of a caller that may not see everything. The error then has no count and no size, because
    ///   these include hidden suites and keys.
    private func check(_ growth: StoredGrowth, on state: State, for reader: Grants?) throws(Problem) {
        let count = state.suites.count + growth.suites
        if count > max(suites, state.suites.count) {
            throw Problem(
                reader == nil ? "there would be \(count) suites" : nil, "quotas.suites", suites,
                remedy: "drop suites with ?drop=true")
        }
        let total = state.size + growth.bytes
        if total > max(totalBytes, state.size) {
            throw Problem(
                reader == nil ? "all suites would take about \(total) bytes of memory" : nil, "quotas.totalBytes",
                totalBytes, remedy: "remove settings or suites")
        }
    }

    /// Throws if the changes of a commit would exceed a quota by adding to it.
    func checkGrowth(
        _ suiteChanges: [SuiteChange], _ changes: [Change], by origin: CommitOrigin?, on state: State,
        for reader: Grants?
    ) throws(Problem) {
        if suiteChanges.isEmpty, changes.addNothing(by: origin) { return }
        let growths = changes.map { $0.growth(on: state, by: origin) }
        let addsKey = changes.contains { $0.stored != nil && $0.oldStored == nil }
        if suiteChanges.isEmpty, !addsKey, growths.allSatisfy({ $0.bytes <= 0 }) { return }
        for (change, growth) in zip(changes, growths) where growth.bytes > 0 && growth.value > valueBytes {
            throw Problem(
                "the value of \(change.key) in suite \(change.suite) would take about \(growth.value) bytes of memory",
                "quotas.valueBytes", valueBytes, remedy: "store it in parts under several keys")
        }
        var extents: [SuiteName: SuiteExtent] = [:]
        for change in suiteChanges {
            extents[change.suite, default: SuiteExtent(state.suite(change.suite))].add(change, to: state)
        }
        for (change, growth) in zip(changes, growths) {
            extents[change.suite, default: SuiteExtent(state.suite(change.suite))].add(change, growth.bytes)
        }
        for (name, extent) in extents.sorted(by: { $0.key < $1.key }) {
            if extent.keys > max(keysPerSuite, extent.before.keys) {
                throw Problem(
                    reader == nil ? "suite \(name) would have \(extent.keys) keys" : nil, "quotas.keysPerSuite",
                    keysPerSuite, remedy: "remove keys of the suite")
            }
            if extent.size > max(suiteBytes, extent.before.size) {
                throw Problem(
                    reader == nil ? "suite \(name) would take about \(extent.size) bytes of memory" : nil,
                    "quotas.suiteBytes", suiteBytes, remedy: "remove settings of the suite")
            }
        }
        let total = extents.values.reduce(into: StoredGrowth()) { total, extent in
            total.suites += extent.growthOfSuites
            total.bytes += extent.size - extent.before.size
        }
        try check(total, on: state, for: reader)
    }
}

/// The extent of one suite before and after some changes.
private struct SuiteExtent {
    /// A rule that says which keys count whether they have a value or not.
    private enum Listing {
        case none
        case by(Schema)
        case names(Set<UTF8Text>)
    }

    let before: (size: Int, keys: Int)
    private(set) var size: Int
    private(set) var keys: Int
    private(set) var growthOfSuites = 0
    private var isGone = false
    private var listing = Listing.none

    init(_ suite: Suite?) {
        before = (suite?.size ?? 0, suite?.keyCount ?? 0)
        (size, keys) = before
        if let schema = suite?.schema?.schema { listing = .by(schema) }
    }

    mutating func add(_ change: SuiteChange, to state: State) {
        switch change.kind {
        case .created:
            growthOfSuites += 1
            (isGone, size) = (false, MemorySize.suite(change.suite))
        case .dropped:
            growthOfSuites -= 1
            (isGone, size, keys) = (true, 0, 0)
        case .schemaSet(_, let document):
            let names = document["properties"]?.object?.members ?? []
            setSchema(
                names.isEmpty ? .none : .names(Set(names.map { UTF8Text($0.name) })), names.count,
                memorySize: MemorySize.schema(document, change.schemaText), of: state.suite(change.suite))
        case .schemaRemoved: setSchema(.none, 0, memorySize: 0, of: state.suite(change.suite))
        }
    }

    mutating func add(_ change: Change, _ growth: Int) {
        // A drop lists every key that had a value.
        guard !isGone else { return }
        size += growth
        guard !lists(change.key) else { return }
        keys += (change.stored == nil ? 0 : 1) - (change.oldStored == nil ? 0 : 1)
    }

    /// Counts as if the suite, with what it stores before the write, had another schema.
    private mutating func setSchema(_ listing: Listing, _ count: Int, memorySize: Int, of suite: Suite?) {
        self.listing = listing
        size += memorySize - (suite?.schema?.schema.memorySize ?? 0)
        keys = count
        suite?.forEachRecord { record in
            if record.stored != nil, !lists(record.key) { keys += 1 }
            return true
        }
    }

    private func lists(_ key: KeyName) -> Bool {
        switch listing {
        case .none: false
        case .by(let schema): schema.lists(key.text)
        case .names(let names): names.contains(UTF8Text(key.text))
        }
    }
}

extension [Change] {
    /// True if the changes add nothing to what is stored, as most do: they put one plain value in place of another. A removal
    /// is never refused, though its origin may take more than the value did.
    fileprivate func addNothing(by origin: CommitOrigin?) -> Bool {
        // By members in a span, as a loop over the array or a method of a change would copy that.
        let changes = span
        for index in changes.indices where changes[index].source.isStored {
            guard origin == nil, changes[index].oldSource.isStored, changes[index].new?.isStoredInline ?? false else {
                return false
            }
        }
        return true
    }
}

extension Change {
    /// The approximate size of the value that the change stores, and by how much the record of the setting grows, in bytes.
    fileprivate func growth(on state: State, by origin: CommitOrigin?) -> (value: Int, bytes: Int) {
        let value = stored?.memorySize ?? 0
        let origin = source == .unset ? origin?.withoutNote : origin
        let before = state.suite(suite)?.knownRecord(key)?.size ?? 0
        return (value, MemorySize.setting(key) + value + (origin?.memorySize ?? 0) - before)
    }
}

extension Problem {
    /// The refusal of a write that would exceed a quota.
    ///
    /// - Parameter excess: the amount after the write; nil for a caller that may not learn the amount.
    fileprivate init(_ excess: String?, _ quota: String, _ limit: Int, remedy: String) {
        let cause = excess.map { "\($0), and" } ?? "the write would exceed a quota:"
        self.init(.insufficientStorage, "\(cause) \(quota) allows \(limit); \(remedy), or raise \(quota)")
        self.outcome = .notDone
        self.limit = Int64(limit)
    }
}
