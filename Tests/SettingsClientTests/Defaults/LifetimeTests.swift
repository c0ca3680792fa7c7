import Dispatch
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The memory that an adapter keeps, and the values that readers get while another thread writes.
@Suite(.ownThread)
struct LifetimeTests {
    struct IndexedKeys: DefaultsKeyStore {
        subscript(index: Int) -> DefaultsKey<Int> { .init("key\(index % 4)", defaultValue: index % 4) }
        subscript(limit limit: Int) -> DefaultsKey<Int> { .init("limited", defaultValue: limit, in: 0...limit) }
    }

    @Test("Key paths that capture new values do not grow the key table without limit")
    func capturedPaths() {
        let defaults = DefaultsAdapter.inMemory(keyStore: IndexedKeys())
        for index in 0..<10_000 {
            #expect(defaults[\.[index]] == index % 4)
        }
        for index in 0..<100 {
            #expect(defaults[\.[limit: index]] == index, "each key path has the default of its own key")
            // A change in place, with a new key path, that changes nothing.
            defaults[\.[index]] += 0
        }
        // The table holds at most `capacity` resolved keys and `capacity` readings (the cached results of reads with
        // key paths). `count` is the sum of both numbers.
        #expect(defaults.core.keys.count <= 2 * KeyTable.capacity)
        defaults[\.[5]] = 50
        #expect(defaults[\.[1]] == 50)
    }

    @Test("A thousand released adapters leave no subscription, and the last adapter is deallocated")
    func manyAdapters() throws {
        let backend = InMemoryBackend(suite: try SuiteName("app"))
        weak var last: AdapterCore?
        for round in 0..<1000 {
            let defaults = DefaultsAdapter(keyStore: ClientKeys(), session: SuiteSession(backend))
            defaults.launchCount += 1
            #expect(defaults.launchCount == round + 1)
            #expect(backend.followerCount == 1)
            last = defaults.core
        }
        // The client thread serves the adapters in order. It ends the subscription of each released adapter before it
        // loads the suite for the next adapter. The end of the last subscription comes after the loop.
        try eventually { backend.followerCount == 0 && last == nil }
    }

    @Test(
        "Readers in many threads see values in the order in which they were written",
        arguments: BackendKind.allCases)
    func manyThreads(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (writer, reader) = (fixture.adapter(), fixture.adapter())
        let isDone = Atomic(false)
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            switch thread {
            case 0:
                for number in 1...100 {
                    writer[\.launchCount] = number
                    #expect(writer[\.launchCount] == number, "a program sees its own write at once")
                    writer.username = number % 2 == 0 ? nil : "odd"
                    writer.libraries = Array(repeating: "x", count: number % 7)
                }
                isDone.store(true, ordering: .releasing)
            default:
                var last = 0
                let adapter = thread % 2 == 0 ? reader : writer
                while !isDone.load(ordering: .acquiring) {
                    let number = adapter[\.launchCount]
                    #expect(number >= last, "a reader never sees an older value after a newer value")
                    last = number
                    _ = adapter.username
                    #expect(adapter.libraries.count < 7)
                }
            }
        }
        #expect(fixture.drainIssues() == [])
    }
}
