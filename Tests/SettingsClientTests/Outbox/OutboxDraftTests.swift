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
        "A write is kept though another program takes its draft for a leftover",
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
        #expect(throws: Never.self) { try store?.keep(samples.set(1), as: samples.set(1)) }
        #expect(others.withLock { $0.count } == 1)
        others.withLock { $0 = [] }
        #expect(harness.close(&store))
        harness.files.repair()
        var next = harness.store()
        #expect(try next.inherit().writes == [samples.set(1)])
        #expect(harness.names.count == 1, "what was begun and given up is gone")
    }

    @Test("A write is refused, not tried for ever, where everything that is begun is taken away")
    func always() throws {
        harness.files.fail { [harness] call, _ in
            if call == .lock, let path = harness.draft { try? POSIXFileSystem().remove(path) }
            return nil
        }
        var store = harness.store()
        #expect(throws: OutboxStore.Refusal.self) { try store.keep(samples.set(1), as: samples.set(1)) }
        #expect(harness.names == [])
    }

    @Test("The name of a file is on disk before something is kept in it")
    func name() throws {
        let synced = Mutex<[String]>([])
        harness.files.fail { call, path in
            if call == .syncDirectory { synced.withLock { $0.append(path) } }
            return nil
        }
        var store = harness.store()
        try store.keep(samples.set(1), as: samples.set(1))
        try store.keep(samples.set(2), as: samples.set(2))
        #expect(synced.withLock { $0 } == [harness.path])
    }
}
