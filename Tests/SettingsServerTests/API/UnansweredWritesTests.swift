@testable import HTTPServer
import HTTPWire
import Platform
import SettingsModel
import Testing

@testable import SettingsWeb

struct UnansweredWritesTests {
    private func write(_ number: UInt32) -> UnansweredWrite {
        UnansweredWrite(
            ticket: Ticket(slot: 0, generation: 0, number: number), createdStatus: 201, isMinimal: false, caller: nil,
            client: .user(1), audited: nil)
    }

    @Test("A write is removed once, and its name is given to another write after that")
    func names() {
        var writes = UnansweredWrites()
        let (first, second) = (writes.add(write(1)), writes.add(write(2)))
        #expect(first != second)
        let removed = [writes.remove(first), writes.remove(second), writes.remove(second)]
        #expect(removed.map { $0?.ticket.number } == [1, 2, nil])
        #expect(writes.add(write(3)) == second)
        #expect(writes.remove(second)?.ticket.number == 3)
    }
}
