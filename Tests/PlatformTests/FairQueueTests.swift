import TestSupport
import Testing

@testable import Platform

struct FairQueueTests {
    /// Steps: `a1` appends the element 1 for the client `a`; `-` removes the next element; `-b` removes the next
    /// element of a client other than `b`; `!a1` removes the element 1 of `a` from any position. The second
    /// text has the results of the steps that begin with `-`, and `nil` for a queue without such an element.
    @Test(
        "The queue serves clients round-robin",
        arguments: [
            ("-", "nil"), ("a1 - -", "1 nil"), ("a1 a2 a3 - - -", "1 2 3"), ("a1 a2 a3 b4 - - - -", "1 4 2 3"),
            ("a1 b2 a3 c4 b5 - - - - - -", "1 2 4 3 5 nil"), ("a1 a2 - b3 - -", "1 2 3"),
            ("a1 a2 b3 - a4 - - -", "1 3 2 4"), ("a1 - b2 a3 - -", "1 2 3"), ("a1 a2 b3 c4 -a - - -", "3 1 4 2"),
            ("a1 a2 -a - -", "nil 1 2"), ("a1 b2 !a1 - -", "2 nil"), ("a1 a2 b3 !a1 - - -", "2 3 nil"),
            ("a1 a2 b3 !a2 - - -", "1 3 nil"), ("a1 !a2 !b1 - -", "1 nil"), ("a1 a2 a3 !a2 - - -", "1 3 nil"),
            ("a1 a2 a3 !a2 !a1 !a2 - -", "3 nil"), ("a1 - !a1 a2 - -", "1 2 nil"),
        ])
    func roundRobin(steps: String, removed: String) {
        var queue = FairQueue<Character, String>()
        var elements: [String] = []
        var positions: [Substring: FairQueue<Character, String>.Position] = [:]
        for step in steps.split(separator: " ") {
            let count = queue.count
            let rest = step.dropFirst()
            if step == "-" {
                elements.append(queue.popFirst() ?? "nil")
                #expect(queue.count == max(0, count - 1))
            } else if step.first == "-" {
                let next = queue.first { client, _ in client != rest.first }
                elements.append(next.flatMap { queue.popFirst(of: $0.client) } ?? "nil")
                #expect(elements.last == next?.element ?? "nil")
            } else if step.first == "!", let client = rest.first {
                if let position = positions[rest] { queue.remove(at: position, of: client) }
            } else if let client = step.first {
                positions[step] = queue.append(String(rest), for: client)
                #expect(queue.count == count + 1 && queue.count(of: client) > 0 && !queue.isEmpty)
            }
        }
        #expect(elements.joined(separator: " ") == removed)
    }

    /// Compares the queue with an array for each client.
    @Test("After elements are removed at random positions, the other elements keep their order", arguments: 1...5)
    func randomRemovals(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = FairQueue<Int, Int>()
        var model: [Int: [(number: Int, position: FairQueue<Int, Int>.Position)]] = [:]
        for number in 0..<2000 {
            let client = Int.random(in: 0..<3, using: &random)
            if Int.random(in: 0..<5, using: &random) < 3 {
                model[client, default: []].append((number, queue.append(number, for: client)))
            } else if let index = model[client]?.indices.randomElement(using: &random),
                let removed = model[client]?.remove(at: index)
            {
                queue.remove(at: removed.position, of: client)
                // A second removal must have no effect.
                queue.remove(at: removed.position, of: client)
            }
            #expect(queue.count(of: client) == model[client]?.count ?? 0)
        }
        for client in 0..<3 {
            var remaining: [Int] = []
            while let number = queue.popFirst(of: client) { remaining.append(number) }
            #expect(remaining == model[client]?.map(\.number))
        }
        #expect(queue.isEmpty)
    }
}
