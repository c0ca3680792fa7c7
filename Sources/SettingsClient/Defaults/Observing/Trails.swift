internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A notice to an observer. Notices come in the order in which readers could see the changes.
enum ObserverNotice: Hashable, Sendable {
    /// Observing begins here, with these settings.
    case began([ObservedSetting])
    /// A key may have another value.
    case saw(ObservedSetting)

    var lacksSource: Bool {
        switch self {
        case .began(let found): found.contains(where: \.lacksSource)
        case .saw(let setting): setting.lacksSource
        }
    }
}

/// A trail that follows the effective values of what is observed: it makes updates from notices.
protocol SettingTrail<Update>: Sendable {
    associatedtype Update: Sendable

    /// The keys that it follows; nil for all keys of the suite.
    var keys: [KeyName]? { get }

    /// The updates that a notice leads to. Called with one notice after the other, in order, of whatever key.
    func follow(_ notice: ObserverNotice) -> [Update]
}

/// The trail of one typed key. A change below another layer, or to another spelling of the same value, is no update.
final class KeyTrail<Value: DefaultsSerializable, Update: Sendable>: SettingTrail {
    private struct Observed {
        var value: Value
        var json: Result<JSONValue?, DefaultsError>

        /// True if both are known to be the same; types need not be Equatable.
        func isSame(as other: Observed) -> Bool {
            guard case .success(let mine) = json, case .success(let theirs) = other.json else { return false }
            return mine == theirs
        }
    }

    private struct Shared {
        /// Nil before it began.
        var last: Observed?
        /// The problem that was reported, as long as it lasts.
        var problem: DefaultsError?
    }

    private let core: AdapterCore
    private let slot: Slot<Value>
    private let options: ObservingOptions
    private let makeUpdate: @Sendable (DefaultsUpdate<Value>) -> Update
    private let shared = Mutex(Shared())

    init(
        _ core: AdapterCore, _ slot: Slot<Value>, _ options: ObservingOptions,
        _ makeUpdate: @escaping @Sendable (DefaultsUpdate<Value>) -> Update
    ) {
        self.core = core
        self.slot = slot
        self.options = options
        self.makeUpdate = makeUpdate
        core.settleRename(of: slot)
    }

    private var key: KeyName? { slot.cell?.name }

    var keys: [KeyName]? { key.map { [$0] } ?? [] }

    func follow(_ notice: ObserverNotice) -> [Update] {
        let update =
            switch notice {
            case .began(let found): begin(found.first { $0.key == key })
            case .saw(let setting): setting.key == key ? advance(to: setting) : nil
            }
        return update.map { [makeUpdate($0)] } ?? []
    }

    private func begin(_ found: ObservedSetting?) -> DefaultsUpdate<Value>? {
        let reading = found.map(read)
        let observed = observed(reading?.value ?? slot.key.defaultValue)
        shared.withLock { $0.last = observed }
        guard options.contains(.initial), !(reading.map(isUnreadable) ?? false) else { return nil }
        return DefaultsUpdate(key: slot.key.name, oldValue: nil, newValue: observed.value, isInitial: true)
    }

    private func advance(to setting: ObservedSetting) -> DefaultsUpdate<Value>? {
        let reading = read(setting)
        guard !isUnreadable(reading) else { return nil }
        let new = observed(reading.value)
        let old = shared.withLock { shared -> Observed? in
            guard let old = shared.last, !old.isSame(as: new) else { return nil }
            shared.last = new
            return old
        }
        guard let old else { return nil }
        return DefaultsUpdate(
            key: slot.key.name, oldValue: options.contains(.old) ? old.value : nil, newValue: new.value,
            isInitial: false)
    }

    /// The effective value. A stored value that is none of the key is reported.
    private func read(_ setting: ObservedSetting) -> Reading<Value> {
        let reading = core.resolve(slot, setting.visible, over: setting.registered)
        let problem = slot.argument == nil ? reading.problem : nil
        let isKnown = shared.withLock { shared in
            defer { shared.problem = problem }
            return shared.problem == problem
        }
        if let problem, !isKnown { core.report(problem, slot.key.name, .read) }
        return reading
    }

    /// True if the stored value is none of the key, and no argument lies over it.
    private func isUnreadable(_ reading: Reading<Value>) -> Bool {
        reading.isStoredUnreadable && slot.argument == nil
    }

    private func observed(_ value: Value) -> Observed {
        Observed(value: value, json: Result { () throws(DefaultsError) in try slot.encode(value) })
    }
}

/// The trail of all keys of a suite, as JSON.
final class SuiteTrail: SettingTrail {
    private let core: AdapterCore
    private let options: ObservingOptions
    /// Nil before it began.
    private let last = Mutex<[KeyName: JSONValue]?>(nil)

    init(_ core: AdapterCore, _ options: ObservingOptions) {
        self.core = core
        self.options = options
    }

    var keys: [KeyName]? { nil }

    func follow(_ notice: ObserverNotice) -> [UntypedUpdate] {
        switch notice {
        case .began(let found): begin(found)
        case .saw(let setting): advance(to: setting).map { [$0] } ?? []
        }
    }

    private func begin(_ found: [ObservedSetting]) -> [UntypedUpdate] {
        var values: [KeyName: JSONValue] = [:]
        for setting in found { values[setting.key] = value(of: setting) }
        last.withLock { [values] in $0 = values }
        guard options.contains(.initial) else { return [] }
        return values.sorted { $0.key < $1.key }.map { key, value in
            UntypedUpdate(key: key.text, oldValue: nil, newValue: value, isInitial: true)
        }
    }

    private func advance(to setting: ObservedSetting) -> UntypedUpdate? {
        // The command line holds as long as the program runs.
        guard core.arguments.forms(of: setting.key.text).isEmpty else { return nil }
        let new = value(of: setting)
        return last.withLock { last in
            guard last != nil else { return nil }
            let old = last?[setting.key]
            guard old != new else { return nil }
            last?[setting.key] = new
            return UntypedUpdate(
                key: setting.key.text, oldValue: options.contains(.old) ? old : nil, newValue: new, isInitial: false)
        }
    }

    /// The value of a name through all layers.
    private func value(of setting: ObservedSetting) -> JSONValue? {
        if let argument = core.arguments.forms(of: setting.key.text).first { return argument }
        return core.untyped(setting.visible, over: setting.registered)
    }
}

extension AdapterCore {
    /// The keys of several trails; nil if one is of all keys.
    func keys<Update: Sendable>(of trails: [any SettingTrail<Update>]) -> [KeyName]? {
        var keys: [KeyName] = []
        for trail in trails {
            guard let more = trail.keys else { return nil }
            keys += more
        }
        return keys
    }

    /// Asks the server for the sources that a notice lacks, which blocks.
    func completed(_ notice: ObserverNotice) -> ObserverNotice {
        guard notice.lacksSource else { return notice }
        switch notice {
        case .began(let found): return .began(found.map(completed))
        case .saw(let setting): return .saw(completed(setting))
        }
    }

    private func completed(_ setting: ObservedSetting) -> ObservedSetting {
        guard setting.lacksSource else { return setting }
        let current = withSource(setting.visible, setting.key)
        var setting = setting
        // The source at that time cannot be asked for. Stored values change most, and a default only with a schema.
        setting.visible.source = current.value == setting.visible.value ? current.source : .stored
        return setting
    }
}
