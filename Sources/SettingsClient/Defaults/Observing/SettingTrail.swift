internal import SettingsModel
internal import Synchronization

/// Follows the effective value of what somebody observes: makes updates out of notices.
protocol SettingTrail<Update>: Sendable {
    associatedtype Update: Sendable

    /// The keys that it is of; nil for all keys of the suite.
    var keys: [KeyName]? { get }

    /// What there is to tell after a notice, which is of any key. One after the other, in order.
    func follow(_ notice: ObserverNotice) -> [Update]
}

/// The trail of one typed key. What changes below another layer, or to another spelling of the same value, is no update.
final class KeyTrail<Value: DefaultsSerializable, Update: Sendable>: SettingTrail {
    private struct Told {
        var value: Value
        var json: Result<JSONValue?, DefaultsError>

        /// Whether both are known to be the same; types need not say what is equal.
        func isSame(as other: Told) -> Bool {
            guard case .success(let mine) = json, case .success(let theirs) = other.json else { return false }
            return mine == theirs
        }
    }

    private let core: AdapterCore
    private let slot: Slot<Value>
    private let options: ObservingOptions
    private let makeUpdate: @Sendable (DefaultsUpdate<Value>) -> Update
    private let shared = Mutex(Shared())

    private struct Shared {
        /// Nil before it began.
        var last: Told?
        /// What was reported, as long as it stays so.
        var problem: DefaultsError?
    }

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
        let told = told(reading?.value ?? slot.key.defaultValue)
        shared.withLock { $0.last = told }
        guard options.contains(.initial), !(reading?.isUnreadable(by: slot) ?? false) else { return nil }
        return DefaultsUpdate(key: slot.key.name, oldValue: nil, newValue: told.value, isInitial: true)
    }

    private func advance(to setting: ObservedSetting) -> DefaultsUpdate<Value>? {
        let reading = read(setting)
        guard !reading.isUnreadable(by: slot) else { return nil }
        let new = told(reading.value)
        let old = shared.withLock { shared -> Told? in
            guard let old = shared.last, !old.isSame(as: new) else { return nil }
            shared.last = new
            return old
        }
        guard let old else { return nil }
        return DefaultsUpdate(
            key: slot.key.name, oldValue: options.contains(.old) ? old.value : nil, newValue: new.value,
            isInitial: false)
    }

    /// The effective value; what is no value of the key is reported.
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

    private func told(_ value: Value) -> Told {
        Told(value: value, json: Result { () throws(DefaultsError) in try slot.encode(value) })
    }
}

extension Reading {
    /// Whether what is stored is no value of the key, and no argument lies over it.
    fileprivate func isUnreadable(by slot: Slot<Value>) -> Bool {
        isStoredUnreadable && slot.argument == nil
    }
}
