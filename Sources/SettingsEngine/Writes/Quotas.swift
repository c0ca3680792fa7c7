internal import SettingsAPI
internal import SettingsModel

/// The limits of the stored data, initially the defaults of the options `quotas.*`. The daemon refuses writes that
/// would increase an amount beyond its limit, but never a write that only removes data. A limit in bytes applies to the
/// estimated memory of the data.
package struct Quotas: Equatable, Sendable {
    /// The maximum number of suites, which are named sets of settings.
    package var suites = 100_000
    /// The maximum number of keys of a suite that have a stored value or are listed in the schema of the suite.
    package var keysPerSuite = 1_000_000
    /// The maximum memory of one value.
    package var valueBytes = 64 << 20
    /// The maximum memory of one suite.
    package var suiteBytes = 256 << 20
    /// The maximum memory of all suites and pending actions (reverts and writes at a deadline) together.
    package var totalBytes = 384 << 20

    package init() {}

    package static let none = {
        var quotas = Quotas()
        (quotas.suites, quotas.keysPerSuite) = (.max, .max)
        (quotas.valueBytes, quotas.suiteBytes, quotas.totalBytes) = (.max, .max, .max)
        return quotas
    }()
}

/// The increase of the stored data of all suites by one commit. Negative if the commit removes data.
struct StoredGrowth: Sendable {
    var suites = 0
    var bytes = 0
}

extension Quotas {
    /// Throws if a commit would increase the stored data of all suites beyond a quota. `restrictedGrants` is the grants
    /// (rights) of a caller that may not read everything; nil if the caller may read everything. An error for a caller
    /// with `restrictedGrants` contains no amounts, because the amounts include suites and keys that the caller may not
    /// see.
    private func check(_ growth: StoredGrowth, on state: State, for restrictedGrants: Grants?) throws(Problem) {
        let count = state.suites.count + growth.suites
        if count > max(suites, state.suites.count) {
            throw Problem(
                restrictedGrants == nil ? "there would be \(count) suites" : nil, "quotas.suites", suites,
                remedy: "drop suites (DELETE with ?drop=true)")
        }
        let total = state.size + growth.bytes
        if total > max(totalBytes, state.size) {
            throw Problem(
                restrictedGrants == nil ? "all suites would take about \(total) bytes of memory" : nil,
                "quotas.totalBytes",
                totalBytes, remedy: "remove settings or suites")
        }
    }

    /// Throws if a commit would increase an amount beyond its quota. `origin` is the name and the note of the caller.
    /// The record of each changed key stores the name and the note, and the record of a key without a value stores the
    /// name only. `restrictedGrants` is nil for a caller that may read everything.
    func checkGrowth(
        _ suiteChanges: [SuiteChange], _ changes: [Change], by origin: CommitOrigin?, on state: State,
        for restrictedGrants: Grants?
    ) throws(Problem) {
        if suiteChanges.isEmpty, changes.cannotExceedQuota(by: origin) { return }
        let growths = changes.map { $0.growth(on: state, by: origin) }
        let addsKey = changes.contains { $0.stored != nil && $0.oldStored == nil }
        if suiteChanges.isEmpty, !addsKey, growths.allSatisfy({ $0.bytes <= 0 }) { return }
        for (change, growth) in zip(changes, growths) where growth.bytes > 0 && growth.valueSize > valueBytes {
            throw Problem(
                "the value of \(change.key) in suite \(change.suite) would take about \(growth.valueSize) bytes of "
                    + "memory", "quotas.valueBytes", valueBytes, remedy: "store it in parts under several keys")
        }
        var usages: [SuiteName: SuiteUsage] = [:]
        for change in suiteChanges {
            usages[change.suite, default: SuiteUsage(state.suite(change.suite))].add(change, on: state)
        }
        for (change, growth) in zip(changes, growths) {
            usages[change.suite, default: SuiteUsage(state.suite(change.suite))].add(change, growth: growth.bytes)
        }
        for (name, usage) in usages.sorted(by: { $0.key < $1.key }) {
            if usage.keys > max(keysPerSuite, usage.before.keys) {
                throw Problem(
                    restrictedGrants == nil ? "suite \(name) would have \(usage.keys) keys" : nil,
                    "quotas.keysPerSuite",
                    keysPerSuite, remedy: "remove keys of the suite")
            }
            if usage.size > max(suiteBytes, usage.before.size) {
                throw Problem(
                    restrictedGrants == nil ? "suite \(name) would take about \(usage.size) bytes of memory" : nil,
                    "quotas.suiteBytes", suiteBytes, remedy: "remove settings of the suite")
            }
        }
        let total = usages.values.reduce(into: StoredGrowth()) { total, usage in
            total.suites += usage.suiteGrowth
            total.bytes += usage.size - usage.before.size
        }
        try check(total, on: state, for: restrictedGrants)
    }
}

/// The memory size and the number of keys of one suite, before and after the changes of a commit.
private struct SuiteUsage {
    /// The keys that the schema of the suite lists. These keys count toward the quota even without a value.
    private enum ListedKeys {
        case none
        case schema(Schema)
        case names(Set<UTF8Text>)
    }

    let before: (size: Int, keys: Int)
    private(set) var size: Int
    private(set) var keys: Int
    /// 1 if the commit creates the suite, -1 if the commit drops the suite, otherwise 0.
    private(set) var suiteGrowth = 0
    private var isDropped = false
    private var listedKeys = ListedKeys.none

    init(_ suite: Suite?) {
        before = (suite?.size ?? 0, suite?.keyCount ?? 0)
        (size, keys) = before
        if let schema = suite?.schema?.schema { listedKeys = .schema(schema) }
    }

    mutating func add(_ change: SuiteChange, on state: State) {
        switch change.kind {
        case .created:
            suiteGrowth += 1
            (isDropped, size) = (false, MemorySize.suite(change.suite))
        case .dropped:
            suiteGrowth -= 1
            (isDropped, size, keys) = (true, 0, 0)
        case .schemaSet(_, let document):
            let properties = document["properties"]?.object?.members ?? []
            setSchema(
                listing: properties.isEmpty ? .none : .names(Set(properties.map { UTF8Text($0.name) })),
                count: properties.count,
                memorySize: MemorySize.schema(document, change.schemaText), of: state.suite(change.suite))
        case .schemaRemoved: setSchema(listing: .none, count: 0, memorySize: 0, of: state.suite(change.suite))
        }
    }

    mutating func add(_ change: Change, growth: Int) {
        // A commit that drops a suite also has a change for each key, but `add(_:on:)` has subtracted the whole suite.
        guard !isDropped else { return }
        size += growth
        guard !lists(change.key) else { return }
        keys += (change.stored == nil ? 0 : 1) - (change.oldStored == nil ? 0 : 1)
    }

    /// Sets a schema that lists `count` keys. Counts the keys again: the listed keys, and the other keys that the suite
    /// stores before the write.
    private mutating func setSchema(listing listed: ListedKeys, count: Int, memorySize: Int, of suite: Suite?) {
        listedKeys = listed
        size += memorySize - (suite?.schema?.schema.memorySize ?? 0)
        keys = count
        suite?.forEachRecord { record in
            if record.stored != nil, !lists(record.key) { keys += 1 }
            return true
        }
    }

    private func lists(_ key: KeyName) -> Bool {
        switch listedKeys {
        case .none: false
        case .schema(let schema): schema.lists(key.text)
        case .names(let names): names.contains(UTF8Text(key.text))
        }
    }
}

extension [Change] {
    /// True if the daemon need not compute sizes. This is the case if each change either removes a stored value, or
    /// replaces a stored value by a value that allocates no memory, such as a number. A replacement must have no
    /// origin, because the record of the key would grow by the origin. A removal may have an origin, because the daemon
    /// never refuses a commit that only removes values.
    fileprivate func cannotExceedQuota(by origin: CommitOrigin?) -> Bool {
        // A loop over the array, or a method of a change, would copy each change. Access through a span copies nothing.
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
    /// Returns the approximate size of the value that the change stores, and the growth of the key's record, in bytes.
    fileprivate func growth(on state: State, by origin: CommitOrigin?) -> (valueSize: Int, bytes: Int) {
        let valueSize = stored?.memorySize ?? 0
        // As in `KeyRecord.init`: the record of a key without a value omits the note, so that removals take little
        // memory.
        let origin = source == .unset ? origin?.withoutNote : origin
        let before = state.suite(suite)?.knownRecord(key)?.size ?? 0
        return (valueSize, MemorySize.setting(key) + valueSize + (origin?.memorySize ?? 0) - before)
    }
}

extension Problem {
    /// Makes the problem of a write that would exceed a quota. `amount` states the amount after the write; nil for a
    /// caller that may not learn the amount.
    fileprivate init(_ amount: String?, _ quota: String, _ limit: Int, remedy: String) {
        let cause = amount.map { "\($0), and" } ?? "the write would exceed a quota:"
        self.init(.insufficientStorage, "\(cause) \(quota) allows \(limit); \(remedy), or raise \(quota)")
        self.outcome = .notDone
        self.limit = Int64(limit)
    }
}
