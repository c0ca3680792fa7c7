internal import SettingsAPI
internal import SettingsModel

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
        // What it was at that time nobody tells. Values that are stored change most, and a default only with a schema.
        setting.visible.source = current.value == setting.visible.value ? current.source : .stored
        return setting
    }
}
