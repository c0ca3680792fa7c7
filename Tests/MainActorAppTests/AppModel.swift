import SettingsClient

/// The model of an app. The class is isolated to the main actor, which is the default of this module.
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
            // The handler does not run on the main actor.
            Task { @MainActor in self?.show(update.newValue) }
        }
    }

    private func show(_ theme: Theme) {
        themes.append(theme)
        onChange()
    }
}

/// A `Setting` constant, because Swift does not allow property wrappers for global variables.
let launches = Setting(\.launchCount, in: Defaults)
