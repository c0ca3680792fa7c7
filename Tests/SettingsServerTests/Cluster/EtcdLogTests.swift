import Dispatch
import Foundation
import Glibc
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsCluster

/// Stores that share a log in etcd. `CollectedResults.awaitFurther(1)` waits for one result, and returns the results by
/// the number of the write, which is 1 for each write of a `ClusterNode`. The daemon of a `ClusterNode` stops when the
/// last reference to the node ends.
@Suite(.ownThread)
struct EtcdLogTests {
    private let etcd: EtcdCluster
    private let directories: [TemporaryDirectory]
    private let keys = LogKeys("settingsd/test")

    init() throws {
        etcd = try EtcdCluster()
        directories = try (0..<3).map { _ in try TemporaryDirectory() }
    }

    /// Opens the daemon with the data directory of this number.
    private func node(
        _ number: Int, _ setOptions: (inout EtcdLog.Options) -> Void = { _ in }
    ) throws -> ClusterNode {
        try ClusterNode(etcd.endpoints, in: directories[number], setOptions)
    }

    /// Opens a daemon with a time limit of 300 ms for a flush. Another daemon first sets `a` to 1, because on a busy
    /// machine, a write may take longer than this limit.
    private func nodeWithShortFlushTimeout(writeTimeoutSeconds: UInt64 = 10) throws -> ClusterNode {
        #expect(try node(2).write(.set(1), to: "a").problem == nil)
        let node = try ClusterNode(etcd.endpoints, in: directories[0], writeTimeoutSeconds: writeTimeoutSeconds) {
            $0.flushTimeout = .milliseconds(300)
        }
        #expect(try node.value("a") == 1)
        return node
    }

    private func makeClient() -> EtcdClient {
        var options = EtcdOptions()
        options.endpoints = etcd.endpoints.compactMap { EtcdEndpoint($0) }
        return EtcdClient(options)
    }

    /// Returns a deadline for a call that must succeed.
    private func deadline() -> ContinuousClock.Instant { .now + .seconds(Deadline.patience) }

    @Test("Concurrent daemons end with the same state, which contains each acknowledged write once")
    func concurrentDaemons() throws {
        let nodes = try [node(0), node(1), node(2)]
        _ = try nodes[0].write(.set(0), to: "n")
        let failures = EventLog()
        DispatchQueue.concurrentPerform(iterations: 3) { number in
            for round in 0..<40 {
                do {
                    let result = try nodes[number].write(
                        .change(.add(.integer(1))), to: "n", requestKey: "\(number)-\(round)")
                    if let problem = result.problem { failures.add("\(problem)") }
                    if try nodes[number].value("n") == nil { failures.add("a daemon lacks its own write") }
                } catch {
                    failures.add("\(error)")
                }
            }
        }
        #expect(failures.all == [])
        for node in nodes { try eventually { try node.value("n") == .integer(3 * 40) } }
        #expect(nodes[0].description == nodes[1].description)
        #expect(nodes[0].description == nodes[2].description)
    }

    @Test("A daemon decides a write on the newest commits of another daemon")
    func newestCommits() throws {
        let (one, other) = (try node(0), try node(1))
        #expect(try one.write(.set(1), to: "a").problem == nil)
        #expect(try other.write(.set(2), to: "a", guards: [.isAbsent]).problem?.code == .preconditionFailed)
        #expect(try other.write(.set(1), to: "a").setting?.changed == false)
        #expect(try one.write(.set(2), to: "a", requestKey: "k1").setting?.changed == true)
        #expect(
            try other.write(.set(1), to: "a", requestKey: "k2").setting?.changed == true,
            "the other daemon has set `a` to 2"
        )
        #expect(try one.write(.set(1), to: "a", guards: [.exists]).setting?.changed == false)
        let repeated = try other.write(.set(2), to: "a", requestKey: "k1")
        #expect(
            repeated.setting?.revision == Revision(2), "the repeated request must get the first answer: \(repeated)")
        try eventually { one.store.state.cursor == other.store.state.cursor }
        #expect(one.description == other.description)
    }

    @Test("A commit that needs several keys in etcd reaches the other daemon")
    func large() throws {
        // The text is longer than a key (`LogKeys.partSize`). Writing it takes long on a busy machine.
        let (one, other) = try (
            ClusterNode(etcd.endpoints, in: directories[0], writeTimeoutSeconds: 200) {
                $0.flushTimeout = .seconds(200)
            },
            ClusterNode(etcd.endpoints, in: directories[1], writeTimeoutSeconds: 200) {
                $0.flushTimeout = .seconds(200)
            }
        )
        let text = JSONValue.string(String(repeating: "0123456789", count: 150_000))
        #expect(try one.write(.set(text), to: "a").problem == nil)
        try eventually { try other.value("a") == text }
        #expect(try other.write(.set(text), to: "b").problem == nil)
        #expect(try one.write(.set(text), to: "b").setting?.changed == false)
        #expect(one.description == other.description)
    }

    @Test("A restarted daemon continues from its copy of the state, with and without etcd")
    func starts() throws {
        var first: ClusterNode? = try node(0)
        #expect(try first?.write(.set(1), to: "a").problem == nil)
        let before = first?.description
        first = nil
        let second = try node(1)
        #expect(second.description == before)
        #expect(try second.write(.set(2), to: "a").problem == nil)
        first = try node(0)
        #expect(first?.description == second.description)
        first = nil
        try etcd.kill(0)
        let stale = try node(0)
        #expect(stale.description == second.description)
        #expect(stale.log.staleness != nil, "the daemon must report the outage since its start")
        #expect(stale.log.writeFailureReason != nil, "the daemon must report the outage since its start")
        #expect(try stale.write(.set(3), to: "a").problem?.outcome == .notDone)
        try etcd.start(0)
        try eventually { try stale.write(.set(4), to: "a").problem == nil }
        try eventually { stale.log.staleness == nil && stale.log.writeFailureReason == nil }
        try eventually { try second.value("a") == 4 }
    }

    @Test("The daemon finds the outcome of a write that etcd did not answer")
    func unknown() throws {
        let one = try nodeWithShortFlushTimeout()
        let other = try node(1)
        etcd.signal(0, SIGSTOP)
        let result = try one.write(.set(2), to: "a")
        #expect(result.problem?.outcome == .unknown)
        #expect(try one.value("a") == 1)
        #expect(try one.write(.set(3), to: "a").problem?.outcome == .notDone)
        etcd.signal(0, SIGCONT)
        // `other` appends no batch that would show the outcome, so `one` sends its batch again at each maintenance.
        try eventually {
            one.store.performMaintenance()
            return try one.value("a") == 2
        }
        try eventually { try other.value("a") == 2 }
        try eventually { try one.write(.set(4), to: "a").problem == nil }
        try eventually { try other.value("a") == 4 }
        #expect(one.description == other.description)
    }

    @Test("A repeat of a write with an unknown outcome waits for the outcome and is never refused as not done")
    func repeatWithUnknownOutcome() throws {
        let one = try nodeWithShortFlushTimeout()
        etcd.signal(0, SIGSTOP)
        #expect(try one.write(.change(.add(.integer(1))), to: "a", requestKey: "k").problem?.outcome == .unknown)
        let replies = CollectedResults()
        #expect(try one.enqueue(.change(.add(.integer(1))), to: "a", requestKey: "k", replies) == nil)
        #expect(try one.write(.set(3), to: "b").problem?.outcome == .notDone, "the write of `b` has no request key")
        #expect(replies.order.isEmpty)
        etcd.signal(0, SIGCONT)
        try eventually {
            one.performMaintenance()
            return !replies.order.isEmpty
        }
        let answer = try #require(replies.awaitFurther(1)[1])
        #expect(answer.setting?.isReplayed == true && answer.setting?.revision == Revision(2), "\(answer)")
        #expect(try one.value("a") == 2)
        etcd.signal(0, SIGSTOP)
        let repeated = try one.write(.change(.add(.integer(1))), to: "a", requestKey: "k")
        #expect(
            repeated.setting?.revision == Revision(2),
            "the daemon must answer a known outcome without etcd: \(repeated)")
        etcd.signal(0, SIGCONT)
    }

    @Test
    func `A repeat of a write whose outcome stays unknown returns unknown at its deadline`() throws {
        let one = try nodeWithShortFlushTimeout(writeTimeoutSeconds: 2)
        etcd.signal(0, SIGSTOP)
        defer { etcd.signal(0, SIGCONT) }
        #expect(try one.write(.set(2), to: "a", requestKey: "k").problem?.outcome == .unknown)
        let replies = CollectedResults()
        #expect(try one.enqueue(.set(2), to: "a", requestKey: "k", replies) == nil)
        try eventually {
            one.performMaintenance()
            return !replies.order.isEmpty
        }
        let problem = try #require(replies.awaitFurther(1)[1]?.problem)
        #expect(problem.code == .storageFailed && problem.outcome == .unknown, "\(problem)")
    }

    @Test("A log in etcd that was restored to an earlier state continues in a new epoch")
    func restored() throws {
        let (one, other) = (try node(0), try node(1))
        #expect(try one.write(.set(1), to: "a").problem == nil)
        var client = makeClient()
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.head))])
        // The head identifies the last batch of the log.
        let head = try #require(try client.call(read, by: deadline()).ranges[0].first?.value)
        for value in 2...5 { #expect(try one.write(.set(.integer(Int64(value))), to: "a").problem == nil) }
        try eventually { try other.value("a") == 5 }
        let (epoch, revision) = (one.store.state.epoch, one.store.state.revision)
        let restore = EtcdTransaction(success: [
            .put(keys.head, head), .delete(keys.batch(try LogHead(head).batch + 1), to: keys.batchesEnd),
        ])
        _ = try client.call(restore, by: deadline())
        try eventually { one.store.state.epoch != epoch && other.store.state.epoch == one.store.state.epoch }
        // A new epoch skips `epochRevisionGap` revisions.
        #expect(one.store.state.revision.number >= revision.number + Recovery.epochRevisionGap)
        #expect(try one.value("a") == 1)
        try eventually { try other.write(.set(7), to: "a").problem == nil }
        try eventually { try one.value("a") == 7 }
        #expect(one.description == other.description)
    }

    @Test("A long log is shortened by a snapshot, from which a daemon starts")
    func snapshots() throws {
        let one = try node(0) { $0.snapshotLogBytes = 2000 }
        var client = makeClient()
        let read = EtcdTransaction(success: [
            .range(EtcdRange(key: keys.batch(LogHead.firstBatch), end: keys.batchesEnd, limit: 1, omitsValues: true))
        ])
        var value: Int64 = 0
        #expect(try one.write(.set(0), to: "a").problem == nil)
        // Leaves a copy of the first state in the directory of daemon 2.
        var daemonWithOldCopy: ClusterNode? = try node(2)
        #expect(try daemonWithOldCopy?.value("a") == 0)
        daemonWithOldCopy = nil
        try eventually {
            value += 1
            #expect(try one.write(.set(.integer(value)), to: "a").problem == nil)
            one.store.performMaintenance()
            // True when the snapshot has replaced the first batch.
            return try client.call(read, by: deadline()).ranges[0].first?.key != keys.batch(LogHead.firstBatch)
        }
        let other = try node(1)
        #expect(try other.value("a") == .integer(value))
        #expect(one.description == other.description)
        #expect(try other.write(.set(-1), to: "a").problem == nil)
        try eventually { try one.value("a") == -1 }
        // The local copy ends at a revision that the log no longer has.
        let late = try node(2)
        #expect(try late.value("a") == -1)
        #expect(try late.write(.set(-2), to: "a").problem == nil)
    }

    @Test
    func `The log of a restored etcd continues in one new epoch with exactly the restored data`() throws {
        let nodes = try [node(0), node(1), node(2)]
        for value in 1...3 { #expect(try nodes[0].write(.set(.integer(Int64(value))), to: "a").problem == nil) }
        let file = directories[0].path + "/etcd.db"
        try etcd.save(to: file)
        #expect(try nodes[1].write(.set(4), to: "a").problem == nil)
        #expect(try nodes[1].write(.set(true), to: "b").problem == nil)
        for node in nodes { try eventually { try node.value("b") == true } }
        let before = nodes[0].store.state.cursor
        try etcd.restore(from: file)
        for node in nodes { try eventually { node.store.state.epoch != before.epoch } }
        let keys = ["x", "y", "z"]
        for (node, key) in zip(nodes, keys) { try eventually { try node.write(.set(1), to: key).problem == nil } }
        for node in nodes { try eventually { try keys.allSatisfy { try node.value($0) == 1 } } }
        for node in nodes {
            #expect(try node.value("a") == 3)
            #expect(try node.value("b") == nil)
            #expect(node.description == nodes[0].description)
            #expect(node.store.state.revision.number >= before.revision.number + Recovery.epochRevisionGap)
        }
        var client = makeClient()
        var (lastBatch, epochs) = (LogHead.firstBatch - 1, 0)
        while true {
            let found = try client.readLog(after: lastBatch, self.keys, by: deadline())
            epochs += found.entries.count { $0.head.beginsEpoch }
            guard let last = found.entries.last else { break }
            lastBatch = last.head.batch
        }
        #expect(epochs == 2, "the log must have its first epoch, and one new epoch that one of the daemons began")
    }

    @Test("The files of a damaged local copy are renamed, and the daemon reads the state from etcd")
    func damagedCopies() throws {
        var daemon: ClusterNode? = try node(0)
        #expect(try daemon?.write(.set(1), to: "a").problem == nil)
        let before = daemon?.description
        daemon = nil
        let path = directories[0].path
        // The copy of the state is a snapshot, and the file `CLUSTER` names this snapshot.
        for prefix in ["CLUSTER", "snapshot"] {
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            let name = try #require(names.first { $0.hasPrefix(prefix) && !$0.contains("aside") }, "\(names)")
            let url = URL(filePath: path).appending(path: name)
            var bytes = try Data(contentsOf: url)
            bytes.replaceSubrange(bytes.count / 2..<bytes.count / 2 + 8, with: Data("\u{0}garbage".utf8))
            #expect(try LogCache.check(DataDirectory(path))?.isSound == true)
            try bytes.write(to: url)
            #expect(try LogCache.check(DataDirectory(path))?.isSound == false)
            let messages = EventLog()
            daemon = try ClusterNode(etcd.endpoints, in: directories[0], messages: messages)
            #expect(daemon?.description == before)
            #expect(messages.all.contains { $0.contains("renames the files of the copy") }, "\(messages.all)")
            #expect(try daemon?.write(.set(1), to: "a").problem == nil)
            daemon = nil
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).count > names.count)
        }
    }

    @Test("A data directory of a daemon without etcd is refused, and the files of a copy of another log are renamed")
    func foreignDirectories() throws {
        var first: ClusterNode? = try node(0)
        #expect(try first?.write(.set(1), to: "a").problem == nil)
        first = nil
        let elsewhere = try node(0) { $0.etcd.prefix = "elsewhere" }
        #expect(elsewhere.store.state.revision == .zero)
        let names = try FileManager.default.contentsOfDirectory(atPath: directories[0].path)
        #expect(names.contains { $0.contains("aside") }, "\(names)")

        /// Opens the data directory as a daemon without etcd does.
        func openLocalLog() throws -> (Recovery, LocalLog) {
            try LocalLog.open(
                DataDirectory(directories[2].path), options: LocalLog.Options(durability: .always),
                limits: History.Limits(), log: LogHarness.quiet, newEpoch: Epoch.random,
                clock: MonotonicClock.system.now)
        }
        let (recovered, localLog) = try openLocalLog()
        let epoch = recovered.state.epoch
        try localLog.close()
        let error = #expect(throws: RecoveryError.self) { _ = try node(2) }
        #expect(error?.description.contains("without etcd") ?? false)
        let (recoveredAgain, localLogAgain) = try openLocalLog()
        #expect(recoveredAgain.state.epoch == epoch)
        try localLogAgain.close()
    }
}
