import Observation
import SettingsClient

// The code of the article "Observing settings". ArticleCodeTests checks that this target contains the code of the
// articles. KeysAndSchemasCode declares the other keys.

func trackTheme() {
    withObservationTracking {
        print(Defaults.theme)
    } onChange: {
        print("The theme changes.")
    }
}

func printThemes() async {
    for await theme in Observations({ Defaults.theme }) { print(theme) }
}

@Observable
final class PlayerModel {
    @ObservationIgnored @Setting(\.theme, in: Defaults) var theme
    var title = ""

    var isDark: Bool { theme == .dark }

    var volume: Double {
        get { Defaults.volume }
        set { Defaults.volume = newValue }
    }
}

func watchTheme() -> DefaultsObservation {
    Defaults.observe(\.theme, options: [.initial, .old, .new]) { update in
        print(update.oldValue as Any, update.newValue)
    }
}

func applyVolume(_ apply: @escaping @Sendable (Double) throws -> Void) -> DefaultsObservation {
    Defaults.observe(\.volume) { update in
        do {
            try apply(update.newValue)
        } catch {
            Defaults.reportFailure("cannot apply the volume: \(error)")
        }
    }
}

func follow() async {
    for await update in Defaults.updates(of: \.volume, \.theme) {
        if let volume = update[\.volume] { print("volume", volume.newValue) }
        if let theme = update[\.theme] { print("theme", theme.newValue) }
    }
}

struct Appearance {
    @Setting(\.theme, in: Defaults) var theme
    @Setting(\.volume, in: Defaults, options: .cached) var volumeAtStart
    @Setting(\.launchCount, in: Defaults, options: [.cached, .observed]) var launchCount
}

final class Model: Sendable {
    static let theme = Setting(\.theme, in: Defaults)
    let volume = Setting(\.volume, in: Defaults)

    func mute() { volume.value = 0 }
}

nonisolated extension DefaultsKeys {
    var fontSize: DefaultsKey<Int> { .init("fontSize", defaultValue: 12) }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
nonisolated let Defaults = DefaultsAdapter(suite: "com.example.app", keyStore: DefaultsKeys())
