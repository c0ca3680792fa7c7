import SettingsAPI
import Testing

@testable import HTTPServer
@testable import SettingsWeb

struct UnfinishedRequestsTests {
    // Requests of two connections that use the same slot one after the other. The property `generation`, the number of
    // earlier connections of the slot, distinguishes the two tickets.
    private let first = Ticket(slot: 0, generation: 0, number: 1)
    private let second = Ticket(slot: 0, generation: 1, number: 1)

    /// The time of the arrival, 7, is arbitrary.
    private func current(_ id: Ticket) -> CurrentRequest { CurrentRequest(id: id, arrival: 7) }

    @Test("The table finds a request by its ticket until its removal, and not by the ticket of a later connection")
    func identifiers() {
        var requests = UnfinishedRequests()
        // The second argument is the work or the event that the request waits for.
        requests.insert(first, .serverOperation, from: current(first))
        #expect(requests[first] != nil && requests[second] == nil)
        #expect(requests.entry(first)?.timing.arrival == 7)
        requests.insert(second, .backgroundWork(.request(second)), from: current(second))
        #expect(requests.ids.count == 2)
        #expect(requests.remove(first) != nil && requests.remove(first) == nil)
        #expect(requests[first] == nil && requests[second] != nil)
    }

    @Test("Requests of one connection, and of the next connection in its slot, are distinct")
    func severalRequests() {
        var requests = UnfinishedRequests()
        let ids = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)].map { generation, number in
            Ticket(slot: 3, generation: generation, number: number)
        }
        for id in ids { requests.insert(id, .serverOperation, from: current(id)) }
        #expect(Set(requests.ids) == Set(ids) && requests.ids.count == ids.count)
        // Adding a request again replaces its entry.
        for id in ids { requests.insert(id, .backgroundWork(.request(id)), from: current(id)) }
        #expect(requests.count { if case .backgroundWork = $0 { true } else { false } } == ids.count)
        for (position, id) in ids.enumerated() {
            #expect(requests.update(id) { $0.isConnected = false } != nil)
            #expect(requests.entry(id)?.isConnected == false)
            #expect(requests.remove(id) != nil && requests[id] == nil && requests.remove(id) == nil)
            #expect(requests.ids.count == ids.count - position - 1)
            requests.releaseUnusedMemory()
        }
        requests.insert(ids[0], .serverOperation, from: current(ids[0]))
        #expect(requests.ids == [ids[0]])
    }

    @Test("Changing an entry that is not in the table has no effect")
    func missing() {
        var requests = UnfinishedRequests()
        #expect(requests.update(first) { $0.isConnected = false } == nil)
        #expect(requests.ids.isEmpty)
    }

    @Test("A backup, which lasts as long as its client reads, waits for an event; a server operation does not")
    func waits() {
        var requests = UnfinishedRequests()
        requests.insert(first, .serverOperation, from: current(first))
        requests.insert(second, .backup(BackupTransfer()), from: current(second))
        #expect(requests.entry(first)?.timing.waitsForEvent == false)
        #expect(requests.entry(second)?.timing.waitsForEvent == true)
    }
}

/// The queue of requests that wait until a revision is published. `atMost: 9` exceeds the number of requests.
struct RevisionQueueTests {
    private let ids = (0..<4).map { Ticket(slot: $0, generation: 0, number: 0) }

    private func cursor(_ revision: Int64) throws -> Cursor {
        Cursor(epoch: try #require(Epoch("e0")), revision: try #require(Revision(revision)))
    }

    @Test("Requests leave the queue when their cursor is reached, at most as many as the limit")
    func reached() throws {
        var queue = RevisionQueue()
        for (id, revision) in zip(ids, [3, 1, 2, 2] as [Int64]) { queue.append(id, until: try cursor(revision)) }
        #expect(queue.removeReached(at: try cursor(1), atMost: 9) == [ids[1]])
        #expect(queue.removeReached(at: try cursor(1), atMost: 9).isEmpty)
        #expect(queue.removeReached(at: try cursor(2), atMost: 1).count == 1)
        #expect(queue.removeReached(at: try cursor(3), atMost: 9).count == 2)
        #expect(queue.isEmpty)
    }

    @Test("A request without a cursor waits until it gets a cursor, and keeps the later of two cursors")
    func extended() throws {
        var queue = RevisionQueue()
        queue.append(ids[0], until: nil)
        #expect(queue.removeReached(at: try cursor(9), atMost: 9).isEmpty)
        queue.extend(ids[0], until: try cursor(5))
        queue.extend(ids[0], until: try cursor(2))
        #expect(queue.removeReached(at: try cursor(4), atMost: 9).isEmpty)
        #expect(queue.removeReached(at: try cursor(5), atMost: 9) == [ids[0]])
        // The request has left the queue, so a later cursor does not add it again.
        queue.extend(ids[0], until: try cursor(9))
        #expect(queue.isEmpty)
    }
}
