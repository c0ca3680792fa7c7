import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct DequeTests {
    @Test
    func `Random operations have the same results as on an array`() {
        var generator = SeededGenerator(seed: 7)
        var deque: Deque<Int> = []
        var model: [Int] = []
        for step in 0..<5000 {
            switch UInt8.random(in: 0..<12, using: &generator) {
            case 0..<5:
                deque.append(step)
                model.append(step)
            case 5..<9: #expect(deque.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            case 9: #expect(deque.popLast() == model.popLast())
            case 10 where !model.isEmpty:
                let position = Int.random(in: model.indices, using: &generator)
                deque[position] = -step
                model[position] = -step
            default:
                let firstRemoved = Int.random(in: 0...model.count, using: &generator)
                deque.removeSubrange(firstRemoved...)
                model.removeSubrange(firstRemoved...)
            }
            #expect(deque.elementsEqual(model))
            #expect(deque.first == model.first && deque.last == model.last && deque.count == model.count)
        }
    }

    @Test
    func `An element that popFirst removes is released at once`() {
        final class Element {}
        weak var released: Element?
        var deque: Deque<Element> = []
        do {
            let element = Element()
            released = element
            deque.append(element)
            deque.append(Element())
        }
        #expect(released != nil)
        _ = deque.popFirst()
        #expect(released == nil && deque.count == 1)
    }

    @Test
    func `A copy does not change with the original`() {
        var deque: Deque = [1, 2, 3]
        let copy = deque
        _ = deque.popFirst()
        deque.append(4)
        #expect(Array(copy) == [1, 2, 3] && Array(deque) == [2, 3, 4])
    }
}
