// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
// SettingsClient declares the global `Defaults`, and ExportingKit declares a global with the same name. An additional
// `import let ExportingKit.Defaults` would select the second global.
import ExportingKit
import SettingsClient

func reset() {
    // error: ambiguous use of 'Defaults'
    Defaults.removeAll()
}
