import Dispatch
import Foundation
import Observation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import Synchronization
import TestSupport
import Testing

/// A model as apps have it. The macro writes names of the module `Observation` into this file.
@Observable
private final class Appearance {
    var fontSize = 12
}

/// What an app imports beside SettingsClient keeps its meaning: these uses have to compile in one file with it.
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
