import Testing

@testable import Platform

struct FairQueueTests {
    /// Steps: `a1` appends the element 1 for the caller `a`; `-` removes the next element; `-b` removes the next element of a caller other than
    /// `b`; `!a1` removes the element 1 of `a`, wherever it is.
    @Test(
        "The queue returns an element of each caller in turn",
        arguments: [
            ("-", "nil"), ("a1 - -", "1 nil"), ("a1 a2 a3 - - -", "1 2 3"), ("a1 a2 a3 b4 - - - -", "1 4 2 3"),
            ("a1 b2 a3 c4 b5 - - - - - -", "1 2 4 3 5 nil"), ("a1 a2 - b3 - -", "1 2 3"),
            ("a1 a2 b3 - a4 - - -", "1 3 2 4"), ("a1 - b2 a3 - -", "1 2 3"), ("a1 a2 b3 c4 -a - - -", "3 1 4 2"),
            ("a1 a2 -a - -", "nil 1 2"), ("a1 b2 !a1 - -", "2 nil"), ("a1 a2 b3 !a1 - - -", "2 3 nil"),
            ("a1 a2 b3 !a2 - - -", "1 3 nil"), ("a1 !a2 !b1 - -", "1 nil"),
        ])
    func roundRobin(steps: String, removed: String) {
        var queue = FairQueue<Character, String>()
        var elements: [String] = []
        for step in steps.split(separator: " ") {
            let count = queue.count
            let rest = step.dropFirst()
            if step == "-" {
                elements.append(queue.popFirst() ?? "nil")
                #expect(queue.count == max(0, count - 1))
            } else if step.first == "-" {
                let next = queue.first { caller, _ in caller != rest.first }
                elements.append(next.flatMap { queue.popFirst(of: $0.caller) } ?? "nil")
                #expect(elements.last == next?.element ?? "nil")
            } else if step.first == "!", let caller = rest.first {
                queue.remove(of: caller) { $0 == String(rest.dropFirst()) }
            } else if let caller = step.first {
                queue.append(String(rest), for: caller)
                #expect(queue.count == count + 1 && queue.count(of: caller) > 0 && !queue.isEmpty)
            }
        }
        #expect(elements.joined(separator: " ") == removed)
    }
}
