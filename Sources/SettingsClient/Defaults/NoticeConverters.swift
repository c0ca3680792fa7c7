internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// Converts notices into the updates of one key.
///
/// Only a change of the effective value is an update. If a value on the command line overrides the setting, or if the
/// new JSON is decoded to the same value, there is no update.
final class KeyNoticeConverter<Value: DefaultsSerializable>: Sendable {
    private typealias Observed = (value: Value, json: Result<JSONValue?, DefaultsError>)

    private struct State {
        /// The value of the last notice. Nil before the first notice.
        var last: Observed?
        /// The problem of the present value, which was reported. Nil if the value has no problem.
        var problem: DefaultsError?
    }

    private let setting: DefaultsReference<Value>
    private let options: ObservingOptions
    private let state = Mutex(State())

    init(_ setting: DefaultsReference<Value>, _ options: ObservingOptions) {
        self.setting = setting
        self.options = options
    }

    /// Returns the update for a notice. The caller passes one notice after the other.
    func update(for notice: ObserverNotice) -> DefaultsUpdate<Value>? {
        let found = notice.settings.first { $0.key == setting.resolved.name }
        guard found != nil || notice.isBeginning else { return nil }
        let reading = found.map(read)
        let isReadable = !(reading?.isReplicaValueUnreadable ?? false) || setting.resolved.argument != nil
        guard notice.isBeginning || isReadable else { return nil }
        let value = reading?.value ?? setting.defaultValue
        let new = (value: value, json: setting.resolved.encoded(value))
        let old = state.withLock { state -> Observed? in
            let old = state.last
            if notice.isBeginning || old != nil { state.last = new }
            return old
        }
        if notice.isBeginning {
            guard options.contains(.initial), isReadable else { return nil }
            return DefaultsUpdate(key: setting.name, oldValue: nil, newValue: value, isInitial: true)
        }
        // The value type may not be Equatable, so the JSON is compared. A value without a JSON form differs
        // from every value.
        guard let old, !isSameJSON(old.json, new.json) else { return nil }
        return DefaultsUpdate(
            key: setting.name, oldValue: options.contains(.old) ? old.value : nil, newValue: value, isInitial: false)
    }

    /// Reads the effective value. Reports a stored value that is not a valid value of the key.
    private func read(_ observed: ObservedSetting) -> Reading<Value> {
        let reading = setting.resolve(observed.visible, over: observed.registered)
        let problem = setting.resolved.argument == nil ? reading.problem : nil
        let isKnown = state.withLock { state in
            defer { state.problem = problem }
            return state.problem == problem
        }
        if let problem, !isKnown { setting.report(problem, .read) }
        return reading
    }
}

/// Converts notices into the updates of all keys of a suite, as JSON.
final class SuiteNoticeConverter: Sendable {
    private let core: AdapterCore
    private let options: ObservingOptions
    /// The values of the last notices. Nil before the first notice.
    private let last = Mutex<[KeyName: JSONValue]?>(nil)

    init(_ core: AdapterCore, _ options: ObservingOptions) {
        self.core = core
        self.options = options
    }

    /// Returns the updates for a notice. The caller passes one notice after the other.
    func updates(for notice: ObserverNotice) -> [UntypedUpdate] {
        notice.isBeginning ? begin(notice.settings) : notice.settings.compactMap(advance)
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
        // A value on the command line overrides the setting.
        guard core.arguments.candidates(for: setting.key.text).isEmpty else { return nil }
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

    /// Returns the effective value, including the command line and registered defaults.
    private func value(of setting: ObservedSetting) -> JSONValue? {
        if let argument = core.arguments.candidates(for: setting.key.text).first { return argument }
        return core.untyped(setting.visible, over: setting.registered)
    }
}
