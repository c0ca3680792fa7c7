import Testing

@testable import HTTPServer

struct MemoryBudgetTests {
    /// Steps: `+300` reserves 300 bytes, `+300/500` reserves 300 bytes if at most 500 bytes are then used, `c300`
    /// charges 300 bytes, `-` releases the oldest reservation, `=200` resizes the oldest reservation. The result is the
    /// number of used bytes, after `no` if a reservation was refused.
    @Test(
        "Memory is reserved up to seven eighths of the limit and charged without limit",
        arguments: [
            ("+700", "700"), ("+701", "no 0"), ("+300 +400 +1", "no 700"), ("+300 +401 +400", "no 700"),
            ("+300 - +700", "700"), ("c900 +1 - +1", "no 1"), ("+700 =200 +500", "700"), ("c100 =0 -", "0"),
            ("+300/400 +101/400", "no 300"), ("+300/400 +100/400 +300", "700"), ("c300 +100/400", "400"),
        ])
    func reservations(steps: String, result: String) throws {
        let budget = MemoryBudget(limit: 800)
        #expect(budget.capacity == 700)
        var reservations: [MemoryBudget.Reservation] = []
        var isRefused = false
        for step in steps.split(separator: " ") {
            let numbers = step.dropFirst().split(separator: "/").compactMap { Int($0) }
            switch step.first {
            case "+":
                if let reservation = budget.reserve(numbers[0], within: numbers.count > 1 ? numbers[1] : nil) {
                    reservations.append(reservation)
                } else {
                    isRefused = true
                }
            case "c": reservations.append(budget.charge(numbers[0]))
            case "=": reservations[0].resize(to: numbers[0])
            default: reservations.removeFirst()
            }
            #expect(budget.usedBytes == reservations.reduce(0) { $0 + $1.bytes })
        }
        #expect("\(isRefused ? "no " : "")\(budget.usedBytes)" == result)
    }

    @Test("Memory is short while work waits for memory, and while charges exceed the capacity")
    func shortage() {
        let budget = MemoryBudget(limit: 800)
        #expect(!budget.isShort)
        budget.beginWaiting()
        budget.beginWaiting()
        budget.endWaiting()
        #expect(budget.isShort)
        budget.endWaiting()
        #expect(!budget.isShort)
        let charge = budget.charge(700)
        #expect(!budget.isShort)
        charge.resize(to: 701)
        #expect(budget.isShort)
    }

    @Test("A changed limit applies to later reservations")
    func renewal() {
        let budget = MemoryBudget(limit: 800)
        let reservation = budget.reserve(600)
        budget.update(limit: 400)
        #expect(reservation != nil && budget.isShort && budget.reserve(1) == nil)
        // Seven eighths of 1600 bytes are 1400 bytes, of which 600 are reserved.
        budget.update(limit: 1600)
        #expect(budget.reserve(800) != nil)
    }
}
