public import SettingsModel

// It reads as what it stands for: `Defaults.launchCount`.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The settings of this program, ready-made: extend `DefaultsKeys` with its keys, and use them.
///
///     extension DefaultsKeys {
///         var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
///     }
///     Defaults.launchCount += 1
///
/// The server is the one that `SETTINGS_URL` names, else `http://127.0.0.1:7070`; the suite the one that `SETTINGS_SUITE`
/// names, else the program's name with a hyphen for each character that no suite may have in its name. If a variable says
/// something that cannot be, every access is an issue that says so, and reads give defaults.
///
/// A program's own global of this name is used in its place:
///
///     let Defaults = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
///
/// It does not belong in `main.swift`, whose variables other files can use before they are there. One that is in a module
/// besides the program's is meant where that is imported by name: `import let Kit.Defaults`.
public let Defaults = DefaultsAdapter<DefaultsKeys>(
    keyStore: DefaultsKeys(),
    session: ProgramEnvironment.current.session(suite: nil, server: nil, timeout: .seconds(2), outbox: .usual),
    arguments: DefaultsAdapter<DefaultsKeys>.ownArguments)
