internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// Converts notices (``ObserverNotice``) into the updates of one key.
///
/// After the initial update (option `initial`), only a change of the effective value is an update. There is then no
/// update if a value on the command line overrides the setting, or if the new JSON means the same value as the old
/// JSON.
final class KeyNoticeConverter<Value: DefaultsSerializable>: Sendable {
    private typealias Observed = (value: Value, json: Result<JSONValue?, DefaultsError>)

    private struct State {
        /// The value after the last notice. Nil before the notice with which observing begins.
        var lastObserved: Observed?
        /// The problem of the present value. The converter has reported the problem. Nil if the value has no problem.
        var problem: DefaultsError?
    }

    private let reference: DefaultsReference<Value>
    private let options: ObservingOptions
    private let state = Mutex(State())

    init(_ reference: DefaultsReference<Value>, _ options: ObservingOptions) {
        self.reference = reference
        self.options = options
    }

    /// Returns the update for a notice. Returns nil if the effective value has not changed, if the value in the replica
    /// is not a valid value of the key, or if observing begins without the option `initial`. The caller passes one
    /// notice after the other.
    func update(for notice: ObserverNotice) -> DefaultsUpdate<Value>? {
        let found = notice.settings.first { $0.key == reference.resolved.name }
        guard found != nil || notice.isBeginning else { return nil }
        let reading = found.map(read)
        let isReadable = !(reading?.isReplicaValueUnreadable ?? false) || reference.resolved.argument != nil
        guard notice.isBeginning || isReadable else { return nil }
        let value = reading?.value ?? reference.defaultValue
        let new = (value: value, json: reference.resolved.encoded(value))
        let old = state.withLock { state -> Observed? in
            let old = state.lastObserved
            if notice.isBeginning || old != nil { state.lastObserved = new }
            return old
        }
        if notice.isBeginning {
            guard options.contains(.initial), isReadable else { return nil }
            return DefaultsUpdate(key: reference.name, oldValue: nil, newValue: value, isInitial: true)
        }
        // The value type may not be Equatable, so the JSON is compared. A value without a JSON form differs
        // from every value.
        guard let old, !isSameJSON(old.json, new.json) else { return nil }
        return DefaultsUpdate(
            key: reference.name, oldValue: options.contains(.old) ? old.value : nil, newValue: value, isInitial: false)
    }

    /// Reads the effective value from the setting with the program's pending writes (`visible`). Reports a stored value
    /// that is not a valid value of the key.
    private func read(_ observed: ObservedSetting) -> Reading<Value> {
        let reading = reference.reading(of: observed.visible, over: observed.registered)
        let problem = reference.resolved.argument == nil ? reading.problem : nil
        let isAlreadyReported = state.withLock { state in
            defer { state.problem = problem }
            return state.problem == problem
        }
        if let problem, !isAlreadyReported { reference.report(problem, .read) }
        return reading
    }
}

/// Converts notices (``ObserverNotice``) into the updates of all keys of a suite, as JSON.
final class SuiteNoticeConverter: Sendable {
    private let core: AdapterCore
    private let options: ObservingOptions
    /// The values after the last notice. Nil before the notice with which observing begins.
    private let lastValues = Mutex<[KeyName: JSONValue]?>(nil)

    init(_ core: AdapterCore, _ options: ObservingOptions) {
        self.core = core
        self.options = options
    }

    /// Returns the updates for a notice. The caller passes one notice after the other.
    func updates(for notice: ObserverNotice) -> [UntypedUpdate] {
        notice.isBeginning ? initialUpdates(of: notice.settings) : notice.settings.compactMap(update)
    }

    private func initialUpdates(of settings: [ObservedSetting]) -> [UntypedUpdate] {
        var values: [KeyName: JSONValue] = [:]
        for setting in settings { values[setting.key] = value(of: setting) }
        lastValues.withLock { [values] in $0 = values }
        guard options.contains(.initial) else { return [] }
        return values.sorted { $0.key < $1.key }.map { key, value in
            UntypedUpdate(key: key.text, oldValue: nil, newValue: value, isInitial: true)
        }
    }

    private func update(for setting: ObservedSetting) -> UntypedUpdate? {
        // A value on the command line overrides the setting. `candidates` returns the JSON that this value may mean.
        guard core.arguments.candidates(for: setting.key.text).isEmpty else { return nil }
        let new = value(of: setting)
        return lastValues.withLock { lastValues in
            guard lastValues != nil else { return nil }
            let old = lastValues?[setting.key]
            guard old != new else { return nil }
            lastValues?[setting.key] = new
            return UntypedUpdate(
                key: setting.key.text, oldValue: options.contains(.old) ? old : nil, newValue: new, isInitial: false)
        }
    }

    /// Returns the effective value, including the command line and registered defaults.
    private func value(of setting: ObservedSetting) -> JSONValue? {
        if let argument = core.arguments.candidates(for: setting.key.text).first { return argument }
        return core.untypedValue(of: setting.visible, over: setting.registered)
    }
}
