import Platform
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// Drafts: a new outbox file has the suffix `.outbox.new` until it is locked and renamed. Each `harness.store()` is the
/// outbox of another program, which ends with `harness.close`.
@Suite(.ownThread)
struct OutboxDraftTests {
    private let harness: StoreHarness
    private var samples: SampleWrites { harness.samples }

    init() throws {
        harness = try StoreHarness()
    }

    /// The action of another program that cleans up drafts before this program has locked its draft.
    enum Interference: CaseIterable, Sendable {
        case removes, locks, locksAndRemoves
    }

    @Test(
        "A write is stored even if another program locks or removes the draft of the outbox file",
        arguments: Interference.allCases)
    func interference(_ interference: Interference) throws {
        // The drafts that the other program has opened.
        let others = Mutex<[OpenFile]>([])
        // No call fails, but the other program acts before the store locks its draft.
        harness.files.fail { [harness] call, _ in
            guard call == .lock, let path = harness.draft else { return nil }
            others.withLock { others in
                guard others.isEmpty, let other = try? OpenFile(path, .writing, in: POSIXFileSystem()) else { return }
                if interference != .removes { _ = try? other.lockIfPresent() }
                if interference != .locks { try? POSIXFileSystem().remove(path) }
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
        #expect(try next.adoptAbandonedWrites().writes == [samples.set(1)])
        #expect(harness.names.count == 1, "the abandoned draft is removed, and the outbox file of `next` stays")
    }
}
