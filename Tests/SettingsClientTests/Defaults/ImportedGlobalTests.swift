import ExportingKit
import SettingsClient
import TestSupport
import Testing

import let ExportingKit.Defaults

/// `ExportingKit` is a module of `Tests` with a public global `Defaults`, an adapter with `KitKeys`.
@Suite(.ownThread)
struct ImportedGlobalTests {
    @Test("A global that is imported by name shadows the Defaults of SettingsClient")
    func shadowing() {
        Defaults.uses += 1
        let imported: DefaultsAdapter<KitKeys> = Defaults
        #expect(imported.uses == 1)
    }
}
