import Glibc
import Platform
import TestSupport
import Testing

@testable import SettingsCluster

/// The daemon's client of etcd, with members of etcd from the Debian package.
@Suite(.ownThread)
struct EtcdClientTests {
    private static func client(_ endpoints: [String]) -> EtcdClient {
        var options = EtcdOptions()
        options.endpoints = endpoints.compactMap { EtcdEndpoint($0) }
        return EtcdClient(options)
    }

    /// Returns a deadline for a call that must succeed.
    private func deadline() -> ContinuousClock.Instant { .now + .seconds(Deadline.patience) }

    private let bytes: [UInt8] = (0...255).map { $0 }

    @Test("A transaction executes the branch that its conditions select, and returns the values of its ranges")
    func transaction() throws {
        let etcd = try EtcdCluster()
        var client = Self.client(etcd.endpoints)
        // A condition without a value requires that the key does not exist.
        let first = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: "k")], success: [.put("k", bytes)],
            failure: [.range(EtcdRange(key: "k")), .range(EtcdRange(key: "x", end: "z"))])
        #expect(try client.call(first, by: deadline()).conditionsHeld)
        let second = try client.call(first, by: deadline())
        #expect(!second.conditionsHeld)
        #expect(second.ranges == [[EtcdPair(key: "k", value: bytes)], []])

        let third = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: "k", value: bytes)],
            success: [.put("x1", [1]), .put("x2", []), .delete("k")])
        #expect(try client.call(third, by: deadline()).conditionsHeld)
        #expect(try !client.call(third, by: deadline()).conditionsHeld)
        let fourth = try client.call(first, by: deadline())
        #expect(fourth.conditionsHeld, "the third transaction must delete the key")
        let range = EtcdRange(key: "x", end: "z", limit: 2)
        let all = try client.call(EtcdTransaction(success: [.range(range)]), by: deadline())
        #expect(all.ranges == [[EtcdPair(key: "x1", value: [1]), EtcdPair(key: "x2", value: [])]])
    }

    @Test("A value of 1 MiB is stored, and a value of 2 MiB is refused without an effect")
    func large() throws {
        let etcd = try EtcdCluster()
        var client = Self.client(etcd.endpoints)
        // `partSize` is 1 MiB.
        let large = [UInt8](repeating: 7, count: LogKeys.partSize)
        _ = try client.call(EtcdTransaction(success: [.put("k", large)]), by: deadline())
        let read = EtcdTransaction(success: [.range(EtcdRange(key: "k"))])
        #expect(try client.call(read, by: deadline()).ranges[0].first?.value == large)
        let refusal = #expect(throws: EtcdError.self) {
            _ = try client.call(EtcdTransaction(success: [.put("k", large + large)]), by: deadline())
        }
        #expect(refusal?.outcome == .noEffect)
        #expect(
            try client.call(read, by: deadline()).ranges[0].first?.value == large,
            "the client must still work after the refusal")
    }

    @Test("A watch returns all values since a revision in order, also empty and large values")
    func watch() throws {
        let etcd = try EtcdCluster()
        var client = Self.client(etcd.endpoints)
        let revision = try client.call(EtcdTransaction(success: [.put("a/0", [0])]), by: deadline()).header.revision
        // The range from `a/` to `a0` has all keys that begin with `a/`, and not the key `b`.
        var watch = try client.watch(EtcdWatchRequest(key: "a/", end: "a0", revision: revision + 1), by: deadline())
        let values: [[UInt8]] = [[1], .init(repeating: 2, count: LogKeys.partSize), [], [3, 10, 4]]
        for (number, value) in values.enumerated() {
            _ = try client.call(EtcdTransaction(success: [.put("a/\(number)", value), .put("b", [])]), by: deadline())
        }
        var found: [[UInt8]] = []
        while found.count < values.count {
            // The waker -1 means that no other descriptor ends the wait.
            for message in try watch.next(by: deadline(), waker: -1) {
                guard case .puts(let pairs) = message else { continue }
                found += pairs.map(\.value)
            }
        }
        #expect(watch.isCreated)
        #expect(found == values)
    }

    @Test("A call tries another member if a member does not run, and has no effect if no member runs")
    func members() throws {
        let etcd = try EtcdCluster()
        // After the kill, no program listens on the port of the member.
        let stopped = try EtcdCluster()
        try stopped.kill(0)
        let put = EtcdTransaction(success: [.put("k", [1])])
        // Each client begins with a random member.
        for _ in 0..<8 {
            var client = Self.client(stopped.endpoints + etcd.endpoints)
            #expect(try client.call(put, by: deadline()).conditionsHeld)
        }
        var client = Self.client(stopped.endpoints)
        let error = #expect(throws: EtcdError.self) {
            _ = try client.call(put, by: .now + .milliseconds(200))
        }
        #expect(error?.outcome == .noEffect)
        #expect(error?.cause == .memberFailed)
    }

    @Test("The client finds the leading member, and the next leading member after this member is killed")
    func leaders() throws {
        let etcd = try EtcdCluster(members: 3)
        var client = Self.client(etcd.endpoints)
        // The client accepts a leader of this term or of a later term.
        var term: Int64 = 0
        for _ in 1...2 {
            var leader: EtcdLeader?
            try eventually {
                leader = client.findLeader(in: term)
                return leader != nil
            }
            let found = try #require(leader)
            #expect(
                client.findLeader(in: found.term + 1000) == nil,
                "the client must ignore the leader of an earlier term")
            client.prefer(found)
            #expect(try client.call(EtcdLeadership(), by: deadline()).term >= found.term)
            let hasChangedMember = client.prefer(found)
            #expect(!hasChangedMember, "a second call with the same leader must have no effect")
            term = found.term + 1
            try etcd.kill(try #require(etcd.endpoints.firstIndex(of: found.endpoint.description)))
            // The client calls the killed member first, then repeats the call to a running member.
            #expect(throws: Never.self) { try client.call(EtcdLeadership(), isRepeatable: true, by: deadline()) }
        }
    }

    @Test("A call to a paused member ends at its deadline with an unknown outcome")
    func paused() throws {
        let etcd = try EtcdCluster()
        var client = Self.client(etcd.endpoints)
        let put = EtcdTransaction(success: [.put("k", [1])])
        _ = try client.call(put, by: deadline())
        etcd.signal(0, SIGSTOP)
        defer { etcd.signal(0, SIGCONT) }
        let error = #expect(throws: EtcdError.self) {
            _ = try client.call(put, by: .now + .milliseconds(300))
        }
        #expect(error?.outcome == .unknown)
    }
}
