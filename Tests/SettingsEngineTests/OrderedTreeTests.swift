import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

@Suite(.ownThread)
struct OrderedTreeTests {
    private struct Item: TreeElement, Hashable {
        let name: String
        var number: Int

        var treeKey: UTF8Text { UTF8Text(name) }
    }

    /// Names of few letters, so that they are met again, and of some length, so that there are many.
    private static func name(_ random: inout SeededGenerator, letters: Int, behind prefix: String) -> String {
        // Now and then one that leaves the others' beginning, somewhere in it.
        var name = random.chance(oneIn: 50) ? String(prefix.prefix(random.below(prefix.count + 1))) : prefix
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
            for count in [1, 2, 7, 1000] {
                #expect(tree.neighbours(of: UTF8Text(place), count).map(\.string) == Array(all.prefix(count)))
            }
        }
    }

    @Test(
        "A tree has what a sorted array has, whatever is done to it, and copies stay as they were",
        arguments: ["", "a", "a.beginning.that.all.share."])
    func random(prefix: String) throws {
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
                let name = Self.name(&random, letters: letters, behind: prefix)
                let (index, isFound) = Self.place(of: name, in: items)
                let item = Item(name: name, number: step)
                switch random.below(10) {
                case 0..<growth:
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
            let name = Self.name(&random, letters: 5, behind: prefix)
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

    private enum Order: CaseIterable {
        case forwards, backwards, shuffled
    }

    @Test("Names that come in any order are kept in order, and each is found", arguments: Order.allCases)
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

    /// Names in order whose marks are the same.
    private static func alike(_ count: Int) -> [String] {
        let names = (0...).lazy.map { "key.\(1_000_000 + $0)" }
        return Array(names.filter { $0.utf8Span.span.mark == 0 }.prefix(count))
    }

    @Test("Names with the same mark are distinct")
    func sameMarks() throws {
        let names = Self.alike(400)
        var tree = OrderedTree<Item>()
        for (number, name) in names.enumerated() where number % 2 == 0 {
            tree.set(Item(name: name, number: number))
        }
        for (number, name) in names.enumerated() {
            try #require(tree.find(name)?.number == (number % 2 == 0 ? number : nil))
            let updated: Int? = tree.update(name.utf8Span.span) { item in
                item.number += 1
                return item.number
            }
            try #require(updated == (number % 2 == 0 ? number + 1 : nil))
        }
        for (number, name) in names.enumerated() where number % 4 < 2 {
            try #require(tree.remove(name.utf8Span.span)?.number == (number % 4 == 0 ? number + 1 : nil))
        }
        #expect(tree.elements.map(\.name) == names.indices.filter { $0 % 4 == 2 }.map { names[$0] })
    }

    @Test(
        "The marks of neighbours differ mostly, wherever their names do",
        arguments: [("", ".volume.of.the.player"), ("player.", ".volume"), ("the.volume.of.player.", "")])
    func marks(beginning: String, end: String) {
        var found: [UInt8: Int] = [:]
        for number in 0..<4096 {
            found["\(beginning)\(10_000 + number)\(end)".utf8Span.span.mark, default: 0] += 1
        }
        // Sixteen have each of them on average.
        #expect(found.count > 250)
        #expect(found.values.allSatisfy { $0 <= 48 })
    }

    private struct Number: TreeElement, Equatable {
        let treeKey: Revision
    }

    @Test("A tree of numbers is in order, and takes out the first as well as any other")
    func numbers() throws {
        var random = SeededGenerator(seed: 3)
        var tree = OrderedTree<Number>()
        var revisions: [Revision] = []
        for number in 1...3_000 {
            let revision = try #require(Revision(Int64(number * 2)))
            let isAppended = tree.append(Number(treeKey: revision))
            let isRepeated = tree.append(Number(treeKey: revision))
            #expect(isAppended && !isRepeated)
            revisions.append(revision)
            if random.chance(oneIn: 3) {
                let index = random.chance(oneIn: 2) ? 0 : random.below(revisions.count)
                let removed = tree.remove(revisions.remove(at: index))
                #expect(removed != nil)
            }
        }
        #expect(tree.elements.map(\.treeKey) == revisions)
        for start in [0, 1, 999, 2_500, 6_001] {
            let start = try #require(Revision(Int64(start)))
            var found: [Revision] = []
            tree.forEach(startingAt: start) { number in
                found.append(number.treeKey)
                return true
            }
            #expect(found == revisions.filter { $0 >= start })
        }
    }
}
