import SettingsClient

/// A model as an app has it: it belongs to the main actor, as everything in the module.
final class AppModel {
    @Setting(\.theme, in: Defaults) var theme
    @Setting(\.launchCount, in: Defaults, options: [.cached, .observed]) var launchCount
    @Setting(\.volume, in: Defaults.player) var volume
    static let account = Setting(\.account, in: Defaults)
    @Setting(\.theme, in: Defaults) static var sharedTheme

    private(set) var themes: [Theme] = []
    private var observation: DefaultsObservation?
    let onChange: () -> Void

    init(onChange: @escaping () -> Void) {
        self.onChange = onChange
        observation = $theme.observe(options: [.initial, .new]) { [weak self] update in
            // Handlers run elsewhere.
            Task { @MainActor in self?.show(update.newValue) }
        }
    }

    private func show(_ theme: Theme) {
        themes.append(theme)
        onChange()
    }
}

/// A global has no wrapper; a constant does the same.
let launches = Setting(\.launchCount, in: Defaults)
