import Platform
import SettingsEngine
import SettingsModel
import Testing

@testable import SettingsStorage

struct WriteQueueTests {
    private static let limits = WriteLimits()

    /// A class around a queue, because an expectation cannot call a mutating method.
    private final class Queue {
        var queue = WriteQueue()

        func append(_ write: PendingWrite, within limit: Int) -> Bool { queue.append(write, within: limit) }

        func dequeue(atMost count: Int, bytes: Int, now: UInt64, _ limits: WriteLimits) -> [PendingWrite] {
            queue.dequeue(atMost: count, bytes: bytes, now: now, limits)
        }
    }

    /// The estimated time and the arrival are in nanoseconds, the size is in bytes.
    private func makeWrite(
        _ id: Int, of client: ClientKey?, time: UInt64 = PendingWrite.minimumTime, arrival: UInt64 = 0, size: Int = 100
    ) throws -> PendingWrite {
        var request = try WriteRequest.put("k", 1)
        request.size = size
        return PendingWrite(
            id: WriteID(id), request: request, receiver: CollectedResults(), client: client, estimatedTime: time,
            arrival: arrival)
    }

    /// Each case has a name, steps, and the numbers of the removed writes in their order. Steps: `a1` queues the cheap
    /// write 1 of the client `a`, and `_1` without a client; `a1:5` queues a costly write that takes 5 ms; `+7`
    /// advances the clock by 7 ms; `-` removes the next write (`none` if the queue is empty); `=5` records that the
    /// last costly write ended now and took 5 ms.
    @Test(
        "Writes leave the queue in the order of their clients, their cost and their arrival",
        arguments: [
            ("an empty queue returns no write", "-", "none"),
            ("writes of one client leave in the order of their arrival", "a1 a2 a3 - - - -", "1 2 3 none"),
            ("writes of several clients leave round-robin", "a1 a2 a3 b4 c5 - - - - -", "1 4 5 2 3"),
            ("all writes without a client count as one client", "_1 _2 b3 - - -", "1 3 2"),
            ("a new client waits for one write of each waiting client", "a1 a2 - b3 - -", "1 2 3"),
            ("a costly write leaves if no cheap write waits", "a1:5 -", "1"),
            ("later cheap writes of the client leave before a costly write", "a1:5 a2 a3 - - -", "2 3 1"),
            ("later cheap writes of other clients leave before a costly write", "a1:5 b2 b3 - - -", "2 3 1"),
            ("a costly write waits at most twenty times its estimated time", "a1:5 b2 b3 +99 - +1 - -", "2 1 3"),
            ("a costly write waits at most a second", "a1:500 b2 b3 +999 - +1 - -", "2 1 3"),
            (
                "a costly write waits twenty times the measured time of the last costly write",
                "a1:1 a2:1 +20 - =5 b3 b4 +99 - +1 - -", "1 3 2 4"
            ),
            ("costly writes of several clients leave round-robin", "a1:5 a2:5 a3:5 b4:5 c5:5 - - - - -", "1 4 5 2 3"),
            (
                "between two costly writes that are due at the same time, cheap writes leave",
                "a1:5 a2:5 +100 - =5 b3 - +100 b4 - -", "1 3 2 4"
            ),
        ])
    func order(_ caseName: String, steps: String, expected: String) throws {
        let tested = Queue()
        var now: UInt64 = 1_000_000_000
        var order: [String] = []
        for step in steps.split(separator: " ") {
            let number = UInt64(step.dropFirst()) ?? 0
            switch step.first {
            case "+": now += number * 1_000_000
            case "=": tested.queue.recordCostlyWrites(endedAt: now, duration: number * 1_000_000, Self.limits)
            case "-":
                let write = tested.dequeue(atMost: 1, bytes: .max, now: now, Self.limits).first
                order.append(write.map { "\($0.id.number)" } ?? "none")
            case let client?:
                let parts = step.dropFirst().split(separator: ":")
                let time = parts.count > 1 ? (UInt64(parts[1]) ?? 0) * 1_000_000 : PendingWrite.minimumTime
                let key: ClientKey? = client == "_" ? nil : .caller(String(client))
                let write = try makeWrite(try #require(Int(parts[0])), of: key, time: time, arrival: now)
                #expect(tested.append(write, within: .max))
            case nil: break
            }
        }
        #expect(order.joined(separator: " ") == expected, "\(caseName)")
    }

    @Test("A slice has as many writes as fit, and costly writes only if no cheap write waits or a costly write is due")
    func slices() throws {
        let tested = Queue()
        for id in 1...5 { #expect(tested.append(try makeWrite(id, of: nil), within: .max)) }
        for id in 6...9 { #expect(tested.append(try makeWrite(id, of: nil, time: 8_000_000), within: .max)) }
        #expect(tested.dequeue(atMost: 2, bytes: .max, now: 0, Self.limits).map(\.id.number) == [1, 2])
        #expect(tested.dequeue(atMost: 9, bytes: 250, now: 0, Self.limits).map(\.id.number) == [3, 4])
        #expect(
            tested.dequeue(atMost: 9, bytes: 1, now: 0, Self.limits).map(\.id.number) == [5],
            "one write always fits")
        #expect(
            tested.dequeue(atMost: 9, bytes: .max, now: 0, Self.limits).map(\.id.number) == [6, 7],
            "two costly writes take 16 ms of the 20 ms of a slice")
        #expect(tested.append(try makeWrite(10, of: nil), within: .max))
        // A costly write is due after twenty times its estimated time: 160 ms. While cheap writes wait, a slice has
        // only one costly write.
        #expect(tested.dequeue(atMost: 9, bytes: .max, now: 160_000_000, Self.limits).map(\.id.number) == [8, 10])
        #expect(tested.dequeue(atMost: 9, bytes: .max, now: 160_000_000, Self.limits).map(\.id.number) == [9])
        #expect(tested.queue.isEmpty && tested.queue.bytes == 0 && tested.queue.estimatedTime == 0)
    }

    @Test("Writes that return to the queue keep their positions among the writes of their clients")
    func putBack() throws {
        let (tested, one, other) = (Queue(), ClientKey.caller("one"), ClientKey.caller("other"))
        for id in 1...4 { #expect(tested.append(try makeWrite(id, of: one), within: .max)) }
        #expect(tested.append(try makeWrite(5, of: one, time: 2_000_000), within: .max))
        let slice = tested.dequeue(atMost: 3, bytes: .max, now: 0, Self.limits)
        #expect(tested.append(try makeWrite(6, of: other), within: .max))
        tested.queue.requeue(slice[1...])
        #expect(tested.queue.count == 5 && tested.queue.bytes == 500)
        let remaining = (1...5).flatMap { _ in
            tested.dequeue(atMost: 1, bytes: .max, now: 0, Self.limits).map(\.id.number)
        }
        // The clients take turns after write 2. The costly write 5 waits for the cheap writes.
        #expect(remaining == [2, 6, 3, 4, 5])
        #expect(tested.queue.isEmpty && tested.queue.bytes == 0)
    }

    @Test("Writes that return to the front of the queue leave first, in their order, together with later cheap writes")
    func front() throws {
        let tested = Queue()
        for id in 1...3 { #expect(tested.append(try makeWrite(id, of: nil), within: .max)) }
        let slice = tested.dequeue(atMost: 2, bytes: .max, now: 0, Self.limits)
        #expect(tested.append(try makeWrite(4, of: nil), within: .max))
        tested.queue.returnToFront(slice)
        #expect(tested.queue.count == 4 && tested.queue.bytes == 400)
        #expect(tested.dequeue(atMost: 9, bytes: .max, now: 0, Self.limits).map(\.id.number) == [1, 2, 3, 4])
    }

    @Test("The queue refuses writes beyond its limit, and a client's writes beyond half of it while other clients wait")
    func sizeLimits() throws {
        // Write 11 has 200 bytes, and each other write has 100 bytes.
        let tested = Queue()
        let (one, other) = (ClientKey.caller("one"), ClientKey.caller("other"))
        for id in 1...6 { #expect(tested.append(try makeWrite(id, of: one), within: 1000), "no other client waits") }
        #expect(tested.append(try makeWrite(7, of: other), within: 1000))
        #expect(
            !tested.append(try makeWrite(8, of: one), within: 1000),
            "the writes of the client take more than half of the bytes")
        for id in 9...10 { #expect(tested.append(try makeWrite(id, of: other), within: 1000)) }
        #expect(!tested.append(try makeWrite(11, of: other, size: 200), within: 1000), "the queue is full")
        #expect(tested.append(try makeWrite(12, of: nil), within: 1000))
        #expect(!tested.append(try makeWrite(13, of: nil), within: 1000), "the queue is full")
        #expect(tested.queue.count == 10)
    }
}
