import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

@Suite("Ordered trees")
struct OrderedTreeTests {
    private struct Item: Named, Hashable {
        let name: String
        var number: Int
    }

    /// Names of few letters, so that they are met again, and of some length, so that there are many.
    private static func name(_ random: inout SeededGenerator, letters: Int) -> String {
        var name = ""
        for _ in 0..<(1 + random.below(letters)) { name += random.pick(["a", "b", "\u{E9}", "e\u{301}", "\u{10000}"]) }
        return name
    }

    private static func place(of name: String, in items: [Item]) -> (index: Int, isFound: Bool) {
        let index = items.firstIndex { !$0.name.precedesInBytes(name) } ?? items.count
        return (index, index < items.count && items[index].name.hasSameBytes(as: name))
    }

    @Test("The neighbours of a place are those of a sorted array, the nearest first", arguments: [0, 1, 5, 64, 500])
    func neighbours(size: Int) {
        var tree = OrderedTree<Item>()
        let names = (0..<size).map { "name\(1000 + 2 * $0)" }
        for (number, name) in names.enumerated().reversed() { tree.set(Item(name: name, number: number)) }
        for place in ["", "name1000", "name1001", "name1064", "name1500", "name1501", "name1998", "z"] {
            let after = names.drop { $0.precedesInBytes(place) }
            let before = Array(names[..<after.startIndex].reversed())
            let all = (0..<size).flatMap { Array(after.dropFirst($0).prefix(1)) + before.dropFirst($0).prefix(1) }
            for count in [1, 2, 7, 1000] { #expect(tree.neighbours(of: place, count) == Array(all.prefix(count))) }
        }
    }

    @Test("A tree has what a sorted array has, whatever is done to it, and copies stay as they were")
    func random() throws {
        for var random in FuzzBudget.generators(share: 0.01) {
            var tree = OrderedTree<Item>()
            var items: [Item] = []
            var copies: [(tree: OrderedTree<Item>, items: [Item])] = []
            // Now and then mostly removals, so that leaves run empty and are joined.
            var growth = 3
            let letters = 2 + random.below(4)
            for step in 0..<2_000 {
                if random.chance(oneIn: 300) { growth = random.pick([1, 3, 9]) }
                if random.chance(oneIn: 400) { copies.append((tree, items)) }
                let name = Self.name(&random, letters: letters)
                let (index, isFound) = Self.place(of: name, in: items)
                let item = Item(name: name, number: step)
                switch random.below(10) {
                case 0..<growth:
                    #expect(tree.set(item) == (isFound ? items[index] : nil), "seed \(random.seed)")
                    if isFound { items[index] = item } else { items.insert(item, at: index) }
                case 9:
                    let updated: Int? = tree.update(name) { element in
                        element.number = -step
                        return element.number
                    }
                    #expect(updated == (isFound ? -step : nil), "seed \(random.seed)")
                    if isFound { items[index].number = -step }
                default:
                    #expect(tree.remove(name) == (isFound ? items.remove(at: index) : nil), "seed \(random.seed)")
                }
                #expect(tree.count == items.count, "seed \(random.seed)")
            }
            try #require(tree.elements == items, "seed \(random.seed)")
            for copy in copies { try #require(copy.tree.elements == copy.items, "seed \(random.seed)") }
            try expectSameReading(tree, items, &random)
        }
    }

    private func expectSameReading(
        _ tree: OrderedTree<Item>, _ items: [Item], _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<100 {
            let name = Self.name(&random, letters: 5)
            let (index, isFound) = Self.place(of: name, in: items)
            #expect(tree.find(name) == (isFound ? items[index] : nil), "seed \(random.seed)")
            #expect(tree.with(name.utf8Span.span) { $0.number } == tree.find(name)?.number, "seed \(random.seed)")
            var found: [Item] = []
            tree.forEach(startingAt: name) { item in
                found.append(item)
                return found.count < 70
            }
            try #require(found == Array(items[index...].prefix(70)), "seed \(random.seed)")
        }
    }

    @Test("Names that come in order, forwards or backwards, are kept in order", arguments: [true, false])
    func inOrder(isForwards: Bool) {
        var tree = OrderedTree<Item>()
        let numbers = isForwards ? Array(0..<20_000) : Array((0..<20_000).reversed())
        for number in numbers { tree.set(Item(name: String(100_000 + number), number: number)) }
        #expect(tree.elements.map(\.number) == Array(0..<20_000))
        for number in numbers { tree.remove(String(100_000 + number)) }
        #expect(tree.isEmpty)
        #expect(tree.elements.isEmpty)
    }
}
