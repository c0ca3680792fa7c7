import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct ReadersTests {
    /// Holds something until it goes.
    private final class Kept: Sendable {
        private let number: Atomic<Int>

        init(_ number: Int) {
            self.number = Atomic(number)
        }

        /// Never 0 while it is there, and another one in what takes its place in memory.
        var content: Int { number.load(ordering: .relaxed) }

        deinit {
            number.store(0, ordering: .relaxed)
        }
    }

    @Test("What is replaced while nobody reads goes at once")
    func atOnce() {
        let readers = Readers()
        weak var last: Kept?
        for number in 1...100 {
            let kept = Kept(number)
            last = kept
            readers.letGo(of: kept)
        }
        #expect(last == nil)
        #expect(readers.replacedCount == 0)
    }

    @Test("What is replaced while somebody reads stays until they have read, whoever comes after")
    func whileReading() {
        let readers = Readers()
        weak var old: Kept?
        weak var other: Kept?
        readers.read {
            let kept = Kept(1)
            old = kept
            readers.letGo(of: kept)
        }
        #expect(old != nil, "it was read when it was replaced")
        readers.read {
            readers.letGo(of: Kept(2))
            #expect(old != nil, "the same place was never seen empty")
        }
        #expect(readers.replacedCount == 2)
        let kept = Kept(3)
        other = kept
        readers.letGo(of: kept)
        #expect(old == nil)
        #expect(readers.replacedCount == 0)
        #expect(other?.content == 3, "it is still held here")
        withExtendedLifetime(kept) {}
    }

    @Test("A reader within a reader counts twice")
    func nested() {
        let readers = Readers()
        weak var old: Kept?
        readers.read {
            readers.read {
                let kept = Kept(1)
                old = kept
                readers.letGo(of: kept)
            }
            readers.letGo(of: Kept(2))
            #expect(old != nil)
        }
        readers.letGo(of: Kept(3))
        #expect(old == nil)
    }

    @Test("Readers in many threads never come upon what has gone, and nothing is left behind")
    func manyThreads() {
        let shared = Shared()
        let group = DispatchGroup()
        for number in 0..<4 {
            DispatchQueue(label: "reader \(number)").async(group: group) {
                while !shared.isOver.load(ordering: .acquiring) {
                    if !shared.read() { shared.failures.add(1, ordering: .relaxed) }
                    shared.reads.add(1, ordering: .relaxed)
                }
            }
        }
        var number = 1
        while shared.reads.load(ordering: .relaxed) < 20_000 {
            number += 1
            shared.replace(number)
        }
        shared.isOver.store(true, ordering: .releasing)
        group.wait()
        #expect(shared.failures.load(ordering: .relaxed) == 0)
        shared.replace(1)
        #expect(shared.readers.replacedCount == 0)
    }

    private final class Shared: Sendable {
        let readers = Readers()
        let isOver = Atomic(false)
        let failures = Atomic(0)
        let reads = Atomic(0)
        private let pointer = Atomic<Unmanaged<Kept>?>(Unmanaged.passRetained(Kept(1)))

        /// Whether what is there stays there, for as long as others need to replace it many times. Each look is by itself:
        /// one that lasts might keep it.
        func read() -> Bool {
            readers.read {
                guard let kept = pointer.load(ordering: .sequentiallyConsistent) else { return false }
                let content = kept._withUnsafeGuaranteedRef { $0.content }
                return content != 0
                    && (0..<100).allSatisfy { _ in kept._withUnsafeGuaranteedRef { $0.content } == content }
            }
        }

        func replace(_ number: Int) {
            let new = Unmanaged.passRetained(Kept(number))
            let old = pointer.exchange(new, ordering: .sequentiallyConsistent)
            if let old { readers.letGo(of: old.takeRetainedValue()) }
        }

        deinit {
            pointer.load(ordering: .acquiring)?.release()
        }
    }

    @Test("Threads have places, and a thread keeps its own")
    func places() {
        let places = Mutex<Set<Int>>([])
        let log = EventLog()
        let leave = DispatchSemaphore(value: 0)
        // All are there at the same time, as what one has left another may get.
        for _ in 0..<16 {
            Thread.detachNewThread {
                let place = ThreadPlace.current
                #expect((0..<16).contains(place))
                places.withLock { _ = $0.insert(place) }
                log.add("here")
                _ = leave.wait(timeout: .now() + 10)
                #expect(ThreadPlace.current == place)
                log.add("done")
            }
        }
        #expect(log.wait(for: "here", times: 16))
        for _ in 0..<16 { leave.signal() }
        #expect(log.wait(for: "done", times: 16))
        #expect(places.withLock { $0 }.count > 4, "they are spread")
    }
}
