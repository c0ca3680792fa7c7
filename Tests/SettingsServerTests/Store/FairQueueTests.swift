import Testing

@testable import SettingsStorage

struct FairQueueTests {
    /// Steps: `a1` appends the element 1 for the caller `a`; `-` removes an element.
    @Test(
        "The queue returns an element of each caller in turn",
        arguments: [
            ("-", "nil"), ("a1 - -", "1 nil"), ("a1 a2 a3 - - -", "1 2 3"), ("a1 a2 a3 b4 - - - -", "1 4 2 3"),
            ("a1 b2 a3 c4 b5 - - - - - -", "1 2 4 3 5 nil"), ("a1 a2 - b3 - -", "1 2 3"),
            ("a1 a2 b3 - a4 - - -", "1 3 2 4"), ("a1 - b2 a3 - -", "1 2 3"),
        ])
    func roundRobin(steps: String, removed: String) {
        var queue = FairQueue<Character, String>()
        var elements: [String] = []
        for step in steps.split(separator: " ") {
            let count = queue.count
            if step == "-" {
                elements.append(queue.popFirst() ?? "nil")
                #expect(queue.count == max(0, count - 1))
            } else if let caller = step.first {
                queue.append(String(step.dropFirst()), for: caller)
                #expect(queue.count == count + 1 && queue.contains(caller) && !queue.isEmpty)
            }
        }
        #expect(elements.joined(separator: " ") == removed)
    }
}
