import Platform
import Testing

@testable import HTTPServer

struct UploadQueueTests {
    /// All bodies together may take 1000 bytes, an eighth of the capacity, and the bodies of one client 500 bytes. The
    /// capacity is seven eighths of the limit. `+ 8` prevents that the division rounds the capacity below 8000 bytes.
    private let budget = MemoryBudget(limit: 8 * 1000 * 8 / 7 + 8)

    private static func client(_ letter: Character) -> ClientKey { .caller(String(letter)) }

    private static func connection(_ number: UInt64, loop: Int = 0) -> UploadQueue.ConnectionID {
        UploadQueue.ConnectionID(loop: loop, identifier: number)
    }

    /// Steps: `a1=400` asks for 400 bytes for connection 1 of the client `a`; `!1` ends connection 1; `.` admits
    /// waiting bodies for which there is memory. `admitted` has the connections in the order of their admission.
    @Test(
        "Bodies are admitted within their share of the memory, round-robin over clients",
        arguments: [
            ("one client has half of the share", "a1=300 a2=200 a3=1 b4=500", "1 2 4"),
            ("a client gets its first body if the share has room", "a1=900 a2=1 b3=100 b4=1", "1 3"),
            ("a body larger than the share takes all of it", "a1=5000 b2=1 !1 .", "1 2"),
            ("the bodies of a client keep their order", "a1=1000 a2=10 a3=20 !1 . ", "1 2 3"),
            ("bodies of several clients are admitted round-robin", "a1=1000 a2=10 a3=10 b4=10 c5=10 !1 .", "1 2 4 5 3"),
            ("later bodies do not overtake a large body", "a1=400 b2=400 c3=300 d4=10 !1 .", "1 2 3 4"),
            ("a client at its limit does not delay another client", "a1=400 a2=400 b3=300 .", "1 3"),
            ("a connection that ends leaves the queue", "a1=1000 a2=10 b3=10 !2 !1 .", "1 3"),
        ])
    func admission(name: String, steps: String, admitted: String) throws {
        let queue = UploadQueue(budget)
        var uploads: [UInt64: Upload] = [:]
        var clients: [UInt64: ClientKey] = [:]
        var order: [UInt64] = []
        for step in steps.split(separator: " ") {
            if step == "." {
                while let (connection, upload) = queue.admitNext(on: 0) {
                    order.append(connection.identifier)
                    uploads[connection.identifier] = upload
                }
            } else if step.first == "!" {
                let number = try #require(UInt64(step.dropFirst()))
                if uploads.removeValue(forKey: number) == nil {
                    queue.remove(Self.connection(number), of: try #require(clients[number]))
                }
            } else {
                let parts = step.dropFirst().split(separator: "=")
                let (number, bytes) = (try #require(UInt64(parts[0])), try #require(Int(parts[1])))
                let client = Self.client(step.first ?? "?")
                clients[number] = client
                if let upload = queue.admit(bytes, from: client) {
                    order.append(number)
                    uploads[number] = upload
                } else {
                    queue.append(bytes, from: client, on: Self.connection(number))
                }
            }
        }
        #expect(order.map(String.init).joined(separator: " ") == admitted)
        #expect(budget.usedBytes == uploads.values.reduce(0) { $0 + $1.reservation.bytes })
    }

    @Test("A body is admitted by its own loop only, and in the order of the queue")
    func loops() {
        let queue = UploadQueue(budget)
        var first = queue.admit(1000, from: Self.client("a"))
        queue.append(10, from: Self.client("b"), on: Self.connection(1, loop: 1))
        queue.append(10, from: Self.client("c"), on: Self.connection(2, loop: 0))
        #expect(first != nil && queue.admitNext(on: 1) == nil)
        first = nil
        #expect(queue.admitNext(on: 0) == nil)
        #expect(queue.admitNext(on: 1)?.connection.identifier == 1)
        #expect(queue.admitNext(on: 0)?.connection.identifier == 2)
        #expect(!queue.hasWaitingBodies)
    }

    @Test("Memory is short while the next body waits for the budget")
    func shortage() {
        let queue = UploadQueue(budget)
        var otherReservation: MemoryBudget.Reservation? = budget.reserve(budget.capacity)
        #expect(otherReservation != nil && queue.admit(10, from: Self.client("a")) == nil)
        queue.append(10, from: Self.client("a"), on: Self.connection(1))
        #expect(queue.admitNext(on: 0) == nil && budget.isShort)
        otherReservation = nil
        #expect(queue.admitNext(on: 0) != nil && !budget.isShort)
        otherReservation = budget.reserve(budget.capacity)
        queue.append(10, from: Self.client("a"), on: Self.connection(2))
        #expect(queue.admitNext(on: 0) == nil && budget.isShort)
        queue.remove(Self.connection(2), of: Self.client("a"))
        #expect(!budget.isShort)
    }
}
