import ExportingKit
import SettingsClient
import TestSupport
import Testing

import let ExportingKit.Defaults

@Suite(.ownThread)
struct ImportedGlobalTests {
    @Test("It is meant where it is imported by name, in place of the ready-made one")
    func shadowing() {
        Defaults.uses += 1
        let imported: DefaultsAdapter<KitKeys> = Defaults
        #expect(imported.uses == 1)
    }
}
