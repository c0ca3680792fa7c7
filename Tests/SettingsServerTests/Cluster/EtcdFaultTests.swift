import Dispatch
import Glibc
import SettingsAPI
import SettingsCluster
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport
import Testing

/// Stores that share a log in etcd, while members of etcd or connections fail.
@Suite(.ownThread)
struct EtcdFaultTests {
    /// One writer for each element of `nodes`, which may contain a daemon several times. The initializer starts the
    /// writers. A writer writes one key after another, and records the outcome of each write.
    private final class Writers: Sendable {
        enum Outcome: Equatable {
            case acknowledged, refused, unknown
        }

        private let nodes: [ClusterNode]
        private let outcomes = Mutex<[String: Outcome]>([:])
        /// The number of acknowledged writes of each writer.
        private let acknowledgedCounts: Mutex<[Int]>
        /// The writer number, the start and the end of each acknowledged write.
        private let times = Mutex<[(writer: Int, start: ContinuousClock.Instant, end: ContinuousClock.Instant)]>([])
        private let isOver = Atomic(false)
        private let group = DispatchGroup()

        init(_ nodes: [ClusterNode]) {
            self.nodes = nodes
            acknowledgedCounts = Mutex(nodes.map { _ in 0 })
            for number in nodes.indices {
                DispatchQueue(label: "writer").async(group: group) { self.run(writer: number) }
            }
        }

        private func run(writer number: Int) {
            var round = 0
            while !isOver.load(ordering: .relaxed) {
                round += 1
                let key = "\(number)-\(round)"
                do {
                    let start = ContinuousClock.now
                    let problem = try nodes[number].write(.set(.integer(Int64(round))), to: key).problem
                    if problem == nil { times.withLock { $0.append((number, start, .now)) } }
                    let outcome: Outcome =
                        problem == nil ? .acknowledged : problem?.outcome == .unknown ? .unknown : .refused
                    outcomes.withLock { $0[key] = outcome }
                    if outcome == .acknowledged { acknowledgedCounts.withLock { $0[number] += 1 } }
                } catch {
                    Issue.record("\(error)")
                    return
                }
            }
        }

        /// Waits until this number of further writes of every writer are acknowledged.
        func awaitProgress(writes: Int = 3) throws {
            let before = acknowledgedCounts.withLock { $0 }
            try eventually { acknowledgedCounts.withLock { zip($0, before).allSatisfy { $0 >= $1 + writes } } }
        }

        /// The duration of the slowest acknowledged write of a writer. Counts only writes that began after a moment.
        func slowestWrite(of writer: Int, after moment: ContinuousClock.Instant) -> Duration {
            times.withLock {
                $0.filter { $0.writer == writer && $0.start > moment }.map { $0.end - $0.start }.max() ?? .zero
            }
        }

        /// The longest time after a moment in which no write was acknowledged. Ignores the writes of writer 0.
        func longestGapOfOthers(after moment: ContinuousClock.Instant) -> Duration {
            let ends = times.withLock { $0.filter { $0.writer != 0 && $0.end > moment }.map(\.end) }.sorted()
            return zip([moment] + ends, ends + [.now]).map { $1 - $0 }.max() ?? .zero
        }

        /// Waits until one more write is refused or has an unknown outcome.
        func awaitFailure() throws {
            let before = outcomes.withLock { $0.values.count { $0 != .acknowledged } }
            try eventually { outcomes.withLock { $0.values.count { $0 != .acknowledged } } > before }
        }

        /// Makes the writers end after their current write. Does not wait for them.
        func stop() { isOver.store(true, ordering: .relaxed) }

        /// Stops the writers, and compares the state of every daemon with the acknowledged and the refused writes.
        func check() throws {
            stop()
            try #require(group.wait(timeout: .now() + .seconds(60)) == .success, "a write did not end within 60 s")
            // Each flush first finds out whether the earlier commits of its daemon are stored. So after an acknowledged
            // write, no earlier write of this daemon with the outcome `unknown` can be stored any more. After an
            // acknowledged write of every daemon, the log therefore gets no further commits.
            for node in nodes { try eventually { try node.write(.set(true), to: "end").problem == nil } }
            let end = try #require(nodes.map(\.store.state.revision).max())
            for node in nodes { try eventually { node.store.state.revision == end } }
            for node in nodes { #expect(node.description == nodes[0].description) }
            let app = try #require(nodes[0].store.state.suite(try SuiteName("app")))
            for (key, outcome) in outcomes.withLock({ $0 }) where outcome != .unknown {
                let isStored = app.record(try KeyName(key)).stored != nil
                #expect(isStored == (outcome == .acknowledged), "the write of \(key) was \(outcome)")
            }
            let revisions = nodes[0].store.state.history.all.map(\.revision)
            #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
        }
    }

    @Test("Killed and paused members of etcd lose no acknowledged write, and store no refused write")
    func members() throws {
        let etcd = try EtcdCluster(members: 3)
        let nodes = try (0..<3).map { _ in
            try ClusterNode(etcd.endpoints, in: TemporaryDirectory()) { $0.flushTimeout = .seconds(2) }
        }
        let writers = Writers(nodes)
        defer { writers.stop() }
        try writers.awaitProgress()
        for member in 0..<3 {
            try etcd.kill(member)
            try writers.awaitProgress()
            try etcd.start(member)
            try writers.awaitProgress()
        }
        etcd.signal(0, SIGSTOP)
        try writers.awaitProgress()
        etcd.signal(0, SIGCONT)
        try etcd.kill(1)
        try etcd.kill(2)
        try writers.awaitFailure()
        try etcd.start(1)
        try etcd.start(2)
        try writers.awaitProgress()
        try writers.check()
    }

    @Test("A daemon finds the leading member, and the next leading member after this member is killed")
    func leaders() throws {
        let etcd = try EtcdCluster(members: 3)
        let messages = EventLog()
        let node = try ClusterNode(etcd.endpoints, in: TemporaryDirectory(), messages: messages)
        // The daemon logs which member leads etcd.
        func leader() -> Int? {
            let line = messages.all.last { $0.contains("leads etcd") }
            return etcd.endpoints.firstIndex { line?.contains($0) ?? false }
        }
        try eventually { leader() != nil }
        let first = try #require(leader())
        #expect(try node.write(.set(1), to: "a").problem == nil)
        try etcd.kill(first)
        try eventually { leader() != first }
        #expect(try node.write(.set(2), to: "a").problem == nil)
    }

    @Test("If etcd's answers to a write are lost, the daemon learns the outcome from its watch of the log")
    func lostAnswers() throws {
        let etcd = try EtcdCluster()
        let proxy = try TCPProxy(to: etcd.ports[0])
        defer { proxy.stop() }
        let node = try ClusterNode(["http://127.0.0.1:\(proxy.port)"], in: TemporaryDirectory())
        let direct = try ClusterNode(etcd.endpoints, in: TemporaryDirectory())
        #expect(try node.write(.set(0), to: "a").problem == nil)
        // The proxy drops the answers to requests that write.
        proxy.set(.replacingAnswers(toRequestsWith: ClusterNode.writeRequestText, with: nil))
        for value in 1...2 { #expect(try node.write(.set(.integer(Int64(value))), to: "a").problem == nil) }
        #expect(proxy.replacedAnswers >= 2)
        #expect(try direct.write(.set(3), to: "a").problem == nil)
        try eventually { try node.value("a") == 3 }
        #expect(node.description == direct.description)
    }

    @Test("While a connection to etcd is slow, each acknowledged write and no refused write is stored")
    func delays() throws {
        let etcd = try EtcdCluster()
        let proxy = try TCPProxy(to: etcd.ports[0])
        defer { proxy.stop() }
        let proxied = try ClusterNode(["http://127.0.0.1:\(proxy.port)"], in: TemporaryDirectory())
        let direct = try ClusterNode(etcd.endpoints, in: TemporaryDirectory())
        let writers = Writers([proxied, direct])
        defer { writers.stop() }
        try writers.awaitProgress()
        proxy.set(.delaying(milliseconds: 30))
        // The first of two writes may have begun before the delay. A write over the slow connection takes seconds,
        // because the other writer often changes the log before this write arrives.
        try writers.awaitProgress(writes: 2)
        proxy.set(.passing)
        try writers.awaitProgress()
        try writers.check()
    }

    @Test("While a daemon has a slow connection to etcd, the others pause less than half as long as its slowest write")
    func slowBesideOthers() throws {
        let etcd = try EtcdCluster()
        let proxy = try TCPProxy(to: etcd.ports[0])
        defer { proxy.stop() }
        let proxied = try ClusterNode(["http://127.0.0.1:\(proxy.port)"], in: TemporaryDirectory())
        let (one, other) = (
            try ClusterNode(etcd.endpoints, in: TemporaryDirectory()),
            try ClusterNode(etcd.endpoints, in: TemporaryDirectory())
        )
        // The other daemons have two writers each, so that they write more often than the slow daemon.
        let writers = Writers([proxied, one, other, one, other])
        defer { writers.stop() }
        try writers.awaitProgress()
        let start = ContinuousClock.now
        proxy.set(.delaying(milliseconds: 30))
        // The first of two writes may have begun before the delay. A write over the slow connection takes seconds,
        // because the other writers often change the log before this write arrives.
        try writers.awaitProgress(writes: 2)
        let (gap, write) = (writers.longestGapOfOthers(after: start), writers.slowestWrite(of: 0, after: start))
        #expect(gap * 2 < write, "the other daemons acknowledged no write for \(gap); the slow write took \(write)")
        proxy.set(.passing)
        try writers.check()
    }

    @Test("If a connection to etcd loses answers or breaks, each acknowledged write and no refused write is stored")
    func lossyConnections() throws {
        let etcd = try EtcdCluster()
        let proxy = try TCPProxy(to: etcd.ports[0])
        defer { proxy.stop() }
        let proxied = try ClusterNode(["http://127.0.0.1:\(proxy.port)"], in: TemporaryDirectory()) {
            $0.flushTimeout = .milliseconds(500)
        }
        let direct = try ClusterNode(etcd.endpoints, in: TemporaryDirectory())
        let writers = Writers([proxied, direct])
        defer { writers.stop() }
        // `losingAnswers` drops all data from etcd, and `cut` closes all connections.
        for mode in [TCPProxy.Mode.losingAnswers, .cut, .losingAnswers] {
            try writers.awaitProgress()
            proxy.set(mode)
            try writers.awaitFailure()
            proxy.set(.passing)
        }
        try writers.awaitProgress()
        try writers.check()
    }
}
