import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

/// Tests of `OrderedTree`, a tree of elements in the order of their names. Copies of a tree share nodes.
@Suite(.ownThread)
struct OrderedTreeTests {
    private struct Item: TreeElement, Hashable {
        let name: String
        var number: Int
    }

    /// Returns a random name that begins with the prefix or a part of it. A name has few different letters, so that
    /// names repeat.
    ///
    /// - Parameter letters: The maximum number of letters after the prefix.
    private static func name(_ random: inout SeededGenerator, letters: Int, after prefix: String) -> String {
        // Some names share only a part of the prefix.
        var name = random.chance(oneIn: 50) ? String(prefix.prefix(random.below(prefix.count + 1))) : prefix
        for _ in 0..<(1 + random.below(letters)) { name += random.pick(["a", "b", "\u{E9}", "e\u{301}", "\u{10000}"]) }
        return name
    }

    /// The position of a name in a sorted array, or the position at which it would be inserted.
    private static func position(of name: String, in items: [Item]) -> (index: Int, isFound: Bool) {
        let index = items.firstIndex { !$0.name.precedesInBytes(name) } ?? items.count
        return (index, index < items.count && items[index].name.hasSameBytes(as: name))
    }

    @Test(
        "The neighbours of a name are the names from it on and the names before it, alternately, the nearest first",
        arguments: [0, 1, 5, 64, 500])
    func neighbours(size: Int) {
        var tree = OrderedTree<Item>()
        let names = (0..<size).map { "name\(1000 + 2 * $0)" }
        for (number, name) in names.enumerated().reversed() { tree.set(Item(name: name, number: number)) }
        for name in ["", "name1000", "name1001", "name1064", "name1500", "name1501", "name1998", "z"] {
            let after = names.drop { $0.precedesInBytes(name) }
            let before = Array(names[..<after.startIndex].reversed())
            let all = (0..<size).flatMap { Array(after.dropFirst($0).prefix(1)) + before.dropFirst($0).prefix(1) }
            for count in [1, 2, 7, 1000] {
                #expect(tree.neighbours(of: name, count) == Array(all.prefix(count)))
            }
        }
    }

    @Test(
        "After random changes, a tree has the elements of a sorted array, and copies of the tree are unchanged",
        arguments: ["", "a", "a.beginning.that.all.share."])
    func random(prefix: String) throws {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for var random in FuzzBudget.generators(roundsFactor: 0.01) {
            var tree = OrderedTree<Item>()
            var items: [Item] = []
            var copies: [(tree: OrderedTree<Item>, items: [Item])] = []
            // The mean number of insertions among ten changes. In some phases, most changes are removals, so that
            // leaves of the tree become empty and are joined.
            var insertionsOfTen = 3
            let letters = 2 + random.below(4)
            for step in 0..<2_000 {
                if random.chance(oneIn: 300) { insertionsOfTen = random.pick([1, 3, 9]) }
                if random.chance(oneIn: 400) { copies.append((tree, items)) }
                let name = Self.name(&random, letters: letters, after: prefix)
                let (index, isFound) = Self.position(of: name, in: items)
                let item = Item(name: name, number: step)
                switch random.below(10) {
                case 0..<insertionsOfTen:
                    #expect(tree.set(item) == (isFound ? items[index] : nil), "seed \(random.seed)")
                    if isFound { items[index] = item } else { items.insert(item, at: index) }
                case 9:
                    let updated: Int? = tree.update(name.utf8Span.span) { element in
                        element.number = -step
                        return element.number
                    }
                    #expect(updated == (isFound ? -step : nil), "seed \(random.seed)")
                    if isFound { items[index].number = -step }
                default:
                    #expect(
                        tree.remove(name.utf8Span.span) == (isFound ? items.remove(at: index) : nil),
                        "seed \(random.seed)")
                }
                #expect(tree.count == items.count, "seed \(random.seed)")
            }
            try #require(tree.elements == items, "seed \(random.seed)")
            for copy in copies { try #require(copy.tree.elements == copy.items, "seed \(random.seed)") }
            try expectSameReading(tree, items, prefix, &random)
        }
    }

    private func expectSameReading(
        _ tree: OrderedTree<Item>, _ items: [Item], _ prefix: String, _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<100 {
            let name = Self.name(&random, letters: 5, after: prefix)
            let (index, isFound) = Self.position(of: name, in: items)
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

    private enum Order: CaseIterable {
        case forwards, backwards, shuffled
    }

    @Test("Names inserted in any order are sorted, and each name is found", arguments: Order.allCases)
    private func order(_ order: Order) throws {
        var random = SeededGenerator(seed: 7)
        var numbers = Array(0..<20_000)
        switch order {
        case .forwards: break
        case .backwards: numbers.reverse()
        case .shuffled: numbers.shuffle(using: &random)
        }
        func name(_ number: Int) -> String { "player.volume.\(100_000 + number)" }
        var tree = OrderedTree<Item>()
        for number in numbers { tree.set(Item(name: name(number), number: number)) }
        #expect(tree.elements.map(\.number) == Array(0..<20_000))
        for number in numbers { try #require(tree.find(name(number))?.number == number) }
        for absent in ["", "player", "player.volume.1", "player.volume.1000001", "player.volume.200000", "q"] {
            #expect(tree.find(absent) == nil)
        }
        // A few of the names.
        for number in [0, 63, 64, 4_095, 12_345] {
            var first: Int?
            tree.forEach(startingAt: name(number)) { item in
                first = item.number
                return false
            }
            #expect(first == number)
        }
        for number in numbers { try #require(tree.remove(name(number).utf8Span.span)?.number == number) }
        #expect(tree.isEmpty)
        #expect(tree.elements.isEmpty)
    }

    @Test("Names are ordered by their UTF-8 bytes, and a name comes before longer names that begin with it")
    func byteOrder() {
        let names = ["a", "aaaaaaaa", "aaaaaaaab", "aaaaaaaa\u{E9}", "ab", "e\u{301}", "z", "\u{E9}", "\u{10000}"]
        var tree = OrderedTree<Item>()
        for (number, name) in names.enumerated().reversed() { tree.set(Item(name: name, number: number)) }
        #expect(tree.elements.map(\.name) == names)
    }

    @Test("Appending an element whose name is not after the last name is refused")
    func append() {
        var tree = OrderedTree<Item>()
        for number in 0..<1_000 {
            let item = Item(name: "name\(10_000 + number)", number: number)
            let isAppended = tree.append(item)
            let isRepeated = tree.append(item)
            #expect(isAppended && !isRepeated)
        }
        let isAppended = tree.append(Item(name: "name", number: -1))
        #expect(!isAppended)
        #expect(tree.elements.map(\.number) == Array(0..<1_000))
    }
}
