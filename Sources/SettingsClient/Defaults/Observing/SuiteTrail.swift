internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

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
        case .began(let found):
            begin(found)
        case .saw(let setting):
            advance(to: setting).map { [$0] } ?? []
        }
    }

    private func begin(_ found: [ObservedSetting]) -> [UntypedUpdate] {
        var values: [KeyName: JSONValue] = [:]
        for setting in found { values[setting.key] = core.untyped(setting) }
        last.withLock { [values] in $0 = values }
        guard options.contains(.initial) else { return [] }
        return values.sorted { $0.key < $1.key }.map { key, value in
            UntypedUpdate(key: key.text, oldValue: nil, newValue: value, isInitial: true)
        }
    }

    private func advance(to setting: ObservedSetting) -> UntypedUpdate? {
        // As long as the program runs, the command line holds.
        guard core.arguments.forms(of: setting.key.text).isEmpty else { return nil }
        let new = core.untyped(setting)
        return last.withLock { last in
            guard last != nil else { return nil }
            let old = last?[setting.key]
            guard old != new else { return nil }
            last?[setting.key] = new
            return UntypedUpdate(
                key: setting.key.text, oldValue: options.contains(.old) ? old : nil, newValue: new, isInitial: false)
        }
    }
}

extension AdapterCore {
    /// What a name stands for in all layers.
    fileprivate func untyped(_ setting: ObservedSetting) -> JSONValue? {
        if let argument = arguments.forms(of: setting.key.text).first { return argument }
        let visible = setting.visible
        return visible.source == .default
            ? setting.registered ?? visible.value : visible.value ?? setting.registered
    }
}
