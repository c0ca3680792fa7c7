// SettingsClient declares the global `Defaults`, and ExportingKit declares a global with the same name. An additional
// `import let ExportingKit.Defaults` would select the second global.
import ExportingKit
import SettingsClient

func reset() {
    // error: ambiguous use of 'Defaults'
    Defaults.removeAll()
}
