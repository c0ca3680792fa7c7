import SettingsAPI
import Testing

@testable import SettingsCluster

/// The order in which daemons write if all daemons have writes: by their identifiers, in a cycle.
@Suite struct WriteOrderTests {
    private static let start = ContinuousClock.now

    /// Returns the `WriteOrder` of a daemon that has received one batch each millisecond from these writers, the last
    /// batch at `start`.
    private func order(of daemon: String, after writers: [String]) throws -> WriteOrder {
        var order = WriteOrder(of: daemon)
        let epoch = try #require(Epoch("aaaaaaaa"))
        for (number, writer) in writers.enumerated() {
            let head = LogHead.beginning(epoch, writer: writer)
            order.recordBatch(head, at: Self.start + .milliseconds(number - writers.count + 1))
        }
        return order
    }

    /// The time to wait for each daemon in between is 2.5 times the average duration of a transaction in etcd. The
    /// average is 2 ms until a duration is recorded. The daemons `x`, `0` and `ab` have not written yet.
    @Test(
        arguments: [
            ("a", [], 0), ("a", ["a"], 0), ("a", ["b"], 0), ("b", ["b", "a"], 0), ("a", ["b", "a"], 5),
            ("c", ["b", "c", "a"], 5), ("b", ["b", "c", "a"], 0), ("a", ["b", "c", "a"], 10),
            ("a", ["a", "b", "c"], 0),
            ("x", ["a", "b"], 0), ("0", ["a", "b"], 0), ("ab", ["a", "b"], 5), ("x", ["b", "a"], 5),
        ] as [(String, [String], Int)])
    func `The daemon after the last writer writes at once, and other daemons wait for each daemon in between`(
        daemon: String, writers: [String], milliseconds: Int
    ) throws {
        var order = try order(of: daemon, after: writers)
        #expect(max(order.earliestWriteTime(at: Self.start), Self.start) == Self.start + .milliseconds(milliseconds))
    }

    @Test
    func `No daemon waits for a daemon that has not written for more than 200 ms`() throws {
        var order = try order(of: "a", after: ["b", "a"])
        let later = Self.start + .milliseconds(250)
        order.recordBatch(LogHead.beginning(try #require(Epoch("aaaaaaaa")), writer: "a"), at: later)
        #expect(order.earliestWriteTime(at: later) == later)
    }

    @Test
    func `The time to wait for each daemon in between is 2.5 average transactions, but at most 20 ms`() throws {
        var order = try order(of: "a", after: ["b", "a"])
        for _ in 0..<100 { order.recordRoundTrip(.milliseconds(4)) }
        let wait = order.earliestWriteTime(at: Self.start) - Self.start
        #expect(wait > .milliseconds(9) && wait <= .milliseconds(10))
        for _ in 0..<100 { order.recordRoundTrip(.seconds(1)) }
        #expect(order.earliestWriteTime(at: Self.start) == Self.start + .milliseconds(20))
    }
}
