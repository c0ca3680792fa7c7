internal import SettingsModel

/// What there is of a key at one moment in the layers that change. The command line and the key's own default do not.
struct ObservedSetting: Hashable, Sendable {
    let key: KeyName
    var visible: VisibleSetting
    /// What is registered under it.
    var registered: JSONValue?

    /// Whether it matters where the value comes from, and that was not told: what is registered lies over a default of
    /// the schema and under what is stored.
    var lacksSource: Bool {
        registered != nil && visible.source == nil
    }
}

/// What an observer is told, in order.
enum ObserverNotice: Hashable, Sendable {
    /// It observes from here on, and this is what it finds.
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

extension AdapterCore {
    /// Asks for what a notice lacks, which blocks.
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
        // Only a value that somebody stored has become another one since.
        setting.visible.source = current.value == setting.visible.value ? current.source : .stored
        return setting
    }
}
