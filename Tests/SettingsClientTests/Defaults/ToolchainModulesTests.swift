import Dispatch
import Foundation
import Observation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import Synchronization
import TestSupport
import Testing

/// The model of an app. The macro `@Observable` expands to code that uses names of the module `Observation`.
@Observable
private final class Appearance {
    var fontSize = 12
}

/// SettingsClient must not change the meaning of names of other modules. The uses of such names in these tests must
/// compile in a file that imports SettingsClient.
@Suite(.ownThread)
struct ToolchainModulesTests {
    private let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())

    @Test("A class with @Observable works in a file that imports SettingsClient")
    func observable() {
        let appearance = Appearance()
        let changes = Mutex(0)
        Observation.withObservationTracking {
            _ = appearance.fontSize
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        appearance.fontSize = settings["fontSize"].int ?? 14
        #expect(changes.withLock { $0 } == 1)
    }

    @Test("The modules Foundation, Dispatch and Synchronization can be named in a file that imports SettingsClient")
    func qualifiedNames() {
        let counter = Synchronization.Atomic(0)
        Dispatch.DispatchQueue(label: "test").sync { counter.store(1, ordering: .relaxed) }
        #expect(counter.load(ordering: .relaxed) == 1)
        settings["data"] = Foundation.Data([1, 2])
        #expect(settings["data"].data == Data([1, 2]))
    }
}
