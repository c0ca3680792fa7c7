import ClientTestSupport
import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// Observers while many threads write. The key `visits` has the merge rule `.sum`, so no increment of a thread is lost.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ManyThreadsTests {
    /// The updates that an observer has received for one key. The old value of each update must be the new value of the
    /// update before it.
    private final class Chain: Sendable {
        private let received = Mutex<[DefaultsUpdate<Int>]>([])
        let log = EventLog()

        func add(_ update: DefaultsUpdate<Int>) {
            received.withLock { $0.append(update) }
            log.add("\(update.newValue)")
        }

        var isUnbroken: Bool {
            received.withLock { received in
                zip(received, received.dropFirst()).allSatisfy { $0.newValue == $1.oldValue }
            }
        }
    }

    @Test(
        "Many threads in two programs count, read and observe, and all see the same final value",
        arguments: BackendKind.allCasesWithTCP)
    func threads(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let programs = [fixture.adapter(), fixture.adapter()]
        let chains = programs.map { _ in Chain() }
        let chainsOfSingleWriter = programs.map { _ in Chain() }
        let observations = programs.indices.flatMap { index in
            [
                programs[index].observe(\.visits) { [chain = chains[index]] in chain.add($0) },
                programs[index].observe(\.launchCount) { [chain = chainsOfSingleWriter[index]] in chain.add($0) },
            ]
        }
        let (threads, rounds) = (8, 60)
        await onThreads(threads) { thread in
            let defaults = programs[thread % 2]
            for round in 1...rounds {
                defaults[\.visits] += 1
                // Only one thread writes this key.
                if thread == 0 { defaults[\.launchCount] = round }
                if thread == 1 {
                    let observation = defaults.observe(\.visits) { _ in }
                    observation.cancel()
                }
                #expect((0...threads * rounds).contains(defaults.visits))
            }
        }
        for (index, program) in programs.enumerated() {
            try await program.synchronize()
            #expect(program.visits == threads * rounds && program.launchCount == rounds)
            #expect(await chains[index].log.waits(for: "\(threads * rounds)"))
            #expect(await chainsOfSingleWriter[index].log.waits(for: "\(rounds)"))
            #expect(chains[index].isUnbroken && chainsOfSingleWriter[index].isUnbroken)
            #expect(chainsOfSingleWriter[index].log.all == (1...rounds).map { "\($0)" })
        }
        // Each program has its two observations. The observations of thread 1 are cancelled.
        #expect(programs.map(\.core.observers.count) == [2, 2])
        withExtendedLifetime(observations) {}
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "Observers get the writes of eight concurrent tasks, and end with the final value",
        arguments: BackendKind.allCases)
    func tasks(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        let chain = Chain()
        let observation = two.observe(\.launchCount) { chain.add($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 1...8 {
                group.addTask {
                    for round in 0..<10 { try await one.set(\.launchCount, task * 100 + round) }
                }
            }
            try await group.waitForAll()
        }
        try await one.synchronize()
        try await two.synchronize()
        let last = one.launchCount
        #expect(last % 100 == 9 && two.launchCount == last)
        #expect(await chain.log.waits(for: "\(last)"))
        #expect(chain.isUnbroken)
        #expect(Set(chain.log.all).count == 80, "the observer gets each of the 80 different values")
        for task in 1...8 {
            let valuesOfTask = chain.log.all.filter { $0.hasPrefix("\(task)") }
            #expect(
                valuesOfTask == (0..<10).map { "\(task * 100 + $0)" },
                "the values are in the order in which the task wrote them")
        }
        withExtendedLifetime(observation) {}
    }

    @MainActor private final class Window {
        var received: [Int] = []
    }

    @Test(
        "A handler that is registered on the main actor can pass updates to the main actor",
        arguments: BackendKind.allCases)
    @MainActor func mainActor(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        let log = EventLog()
        let window = Window()
        let updates = one.updates(of: \.launchCount)
        let observation = one.observe(\.launchCount) { update in
            Task { @MainActor in
                window.received.append(update.newValue)
                log.add("\(update.newValue)")
            }
        }
        await onThreads(1) { _ in two.launchCount = 1 }
        #expect(await log.waits(for: "1"))
        one.launchCount += 1
        #expect(await log.waits(for: "2"))
        // The two tasks of the handler may run in either order.
        #expect(window.received.sorted() == [1, 2])
        for await update in updates where update.newValue == 2 { break }
        withExtendedLifetime(observation) {}
    }

    /// Runs the body on this number of threads at the same time, and suspends until all calls have returned. The
    /// threads are not threads of Swift's pool.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "threads of a test").async {
                DispatchQueue.concurrentPerform(iterations: count) { body($0) }
                continuation.resume()
            }
        }
    }
}
