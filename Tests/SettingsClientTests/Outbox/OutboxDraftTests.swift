import Platform
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct OutboxDraftTests {
    private let harness: StoreHarness
    private var samples: SampleWrites { harness.samples }

    init() throws {
        harness = try StoreHarness()
    }

    /// An action of another program that clears up drafts at that moment.
    enum Meddling: CaseIterable, Sendable {
        case removes, locks, locksAndRemoves
    }

    @Test(
        "A write is kept even if another program removes its draft",
        arguments: Meddling.allCases)
    func meddling(_ meddling: Meddling) throws {
        let others = Mutex<[OpenFile]>([])
        harness.files.fail { [harness] call, _ in
            guard call == .lock, let path = harness.draft else { return nil }
            others.withLock { others in
                guard others.isEmpty, let other = try? OpenFile(path, .writing, in: POSIXFileSystem()) else { return }
                if meddling != .removes { _ = try? other.lockIfNamed() }
                if meddling != .locks { try? POSIXFileSystem().remove(path) }
                others.append(other)
            }
            return nil
        }
        var store: OutboxStore? = harness.store()
        #expect(throws: Never.self) { try store?.add(samples.set(1)) }
        #expect(others.withLock { $0.count } == 1)
        others.withLock { $0 = [] }
        #expect(harness.close(&store))
        harness.files.repair()
        var next = harness.store()
        #expect(try next.inherit().writes == [samples.set(1)])
        #expect(harness.names.count == 1, "what was begun and given up is gone")
    }
}
