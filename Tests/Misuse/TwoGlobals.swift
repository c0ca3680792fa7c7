// One module has the ready-made global, the other one of its own: `import let ExportingKit.Defaults` says which is meant.
import ExportingKit
import SettingsClient

func reset() {
    // says: ambiguous use of 'Defaults'
    Defaults.removeAll()
}
