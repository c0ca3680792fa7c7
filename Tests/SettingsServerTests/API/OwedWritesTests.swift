import HTTPWire
import Platform
import SettingsModel
import Testing

@testable import HTTPServer
@testable import SettingsWeb

struct OwedWritesTests {
    private func write(_ number: UInt32) throws -> OwedWrite {
        let plain = PlainWrite(peer: .unix(path: ""), suite: try SuiteName("app"), key: try KeyName("a"))
        let ticket = Ticket(slot: 0, generation: 0, number: number)
        return OwedWrite(plain, RequestLookedAt(since: 0), ticket)
    }

    @Test("A write is removed with the answer that was prepared for it, and another of its identifier has none")
    func prepared() throws {
        var writes = OwedWrites()
        let (first, second) = (writes.add(try write(1)), writes.add(try write(2)))
        writes.prepare(second, Response(status: 201))
        let removed = [writes.remove(first), writes.remove(second), writes.remove(second)]
        #expect(removed.map { $0?.write.ticket.number } == [1, 2, nil])
        #expect(removed.map { $0?.prepared?.status } == [nil, 201, nil])
        #expect(writes.add(try write(3)) == second)
        let next = writes.remove(second)
        #expect(next?.write.ticket.number == 3 && next?.prepared == nil)
    }
}
