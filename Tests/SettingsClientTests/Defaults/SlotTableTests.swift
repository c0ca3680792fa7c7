import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct SlotTableTests {
    struct Keys: DefaultsKeyStore {
        var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
        var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5, in: 0...1) }
        var mode: DefaultsKey<String> { .init("mode", defaultValue: "a", allowed: ["a", "b"]) }
        subscript(limit: Int) -> DefaultsKey<Int> { .init("limited", defaultValue: 0, in: 0...limit) }
        subscript(default value: Int) -> DefaultsKey<Int> { .init("other", defaultValue: value) }
        subscript(numbered number: Int) -> DefaultsKey<Int> { .init("key \(number)", defaultValue: number) }
    }

    private let table = SlotTable(
        session: SuiteSession(InMemoryBackend(suite: .sample)), arguments: LaunchArguments([])
    ) { name, error in
        Issue.record("\(name): \(error)")
    }

    /// The slot as a read by key path finds it, or makes it.
    private func slot<Value>(_ path: KeyPath<Keys, DefaultsKey<Value>>) -> Slot<Value> {
        table.slot(path, in: nil) { Keys()[keyPath: path] }
    }

    @Test("However a key is named, it has one slot")
    func shared() {
        let count = slot(\.count)
        #expect(slot(\.count) === count)
        #expect(table.slot(for: Keys().count) === count)
        #expect(table.slot(for: DefaultsKey<Int>("count", defaultValue: 7)) === count, "whatever the default")
        let volume = slot(\.volume)
        #expect(table.slot(for: Keys().volume) === volume)
        #expect(table.slot(for: DefaultsKey<Double>("volume", defaultValue: 1, in: 0...1)) === volume)
        let mode = slot(\.mode)
        #expect(table.slot(for: Keys().mode) === mode)
    }

    @Test("A key path has a slot whose default is its own")
    func defaults() {
        #expect(slot(\.[default: 1]) !== slot(\.[default: 2]))
        #expect(slot(\.[default: 1]).key.defaultValue == 1)
        #expect(slot(\.[default: 2]).key.defaultValue == 2)
    }

    @Test("Keys that say something else have slots of their own")
    func apart() {
        let keys: [DefaultsKey<Int>] = [
            .init("n", defaultValue: 0),
            .init("n", defaultValue: 0, in: 0...1),
            .init("n", defaultValue: 0, in: 0...2),
            .init("n", defaultValue: 0, in: 0..<2),
            .init("n", defaultValue: 0, allowed: [0, 1]),
            .init("n", defaultValue: 0, allowed: [0, 2]),
            .init("n", defaultValue: 0, secret: true),
            .init("n", defaultValue: 0, description: "a number"),
        ]
        var slots = keys.map { table.slot(for: $0) }
        #expect(Set(slots.map(ObjectIdentifier.init)).count == keys.count)
        for (key, slot) in zip(keys, slots) { #expect(table.slot(for: key) === slot) }
        slots.append(table.slot(for: DefaultsKey<Int>("m", defaultValue: 0)))
        #expect(Set(slots.map(ObjectIdentifier.init)).count == keys.count + 1)
    }

    @Test("Type and bytes of the name tell keys apart")
    func names() {
        let names = ["n", "n ", "na", "\u{E9}", "e\u{301}", "12345678", "123456789", "1234567812345678"]
        let slots = names.map { ObjectIdentifier(table.slot(for: DefaultsKey<Int?>($0))) }
        #expect(Set(slots).count == names.count)
        for (name, slot) in zip(names, slots) {
            #expect(ObjectIdentifier(table.slot(for: DefaultsKey<Int?>(name))) == slot)
            #expect(ObjectIdentifier(table.slot(for: DefaultsKey<String?>(name))) != slot)
        }
    }

    @Test("A list of allowed values is compared by what it holds, wherever it stands in memory")
    func lists() {
        let lists = [["a", "b"], ["b", "a"].reversed(), "a,b".split(separator: ",").map(String.init)]
        let slots = lists.map { table.slot(for: DefaultsKey<String>("mode", defaultValue: "a", allowed: $0)) }
        #expect(slots[1] === slots[0])
        #expect(slots[2] === slots[0])
        let other = DefaultsKey<String>("mode", defaultValue: "a", allowed: ["a", "c"])
        #expect(table.slot(for: other) !== slots[0])
    }

    @Test("What is made on each use does not grow memory, and is right nevertheless")
    func madeOnEachUse() {
        func useEach() {
            for index in 0..<50 {
                #expect(slot(\.[default: index]).key.defaultValue == index)
                #expect(slot(\.[index]).key.name == "limited")
                #expect(table.slot(for: Keys().volume).key.name == "volume")
                let key = DefaultsKey<Int>("secret", defaultValue: index, in: 0...index)
                #expect(table.slot(for: key).key.hasSameRules(as: key))
            }
        }
        for _ in 0..<20 { useEach() }
        // Of each name and type eight slots, each with sixteen paths and sixteen rules.
        let count = table.entryCount
        #expect(count <= 4 * 8 * (16 + 16))
        useEach()
        #expect(table.entryCount == count)
    }

    @Test("Many more keys than there are chains are all found")
    func manyKeys() {
        let slots = (0..<3000).map { slot(\.[numbered: $0]) }
        for (index, slot) in slots.enumerated() {
            #expect(slot.key.defaultValue == index)
            #expect(table.slot(for: DefaultsKey<Int>("key \(index)", defaultValue: 0)) === slot)
        }
    }

    @Test("Threads that come upon keys at the same time all find what they look for")
    func manyThreads() {
        let mistakes = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<500 {
                let number = (round * 7 + thread) % 500
                let path = \Keys.[numbered: number]
                let key = DefaultsKey<Int>("limited \(number)", defaultValue: 0, in: 0...number)
                let isRight =
                    slot(path).key.defaultValue == number && slot(path).key.name == "key \(number)"
                    && table.slot(for: key).key.hasSameRules(as: key) && slot(\.count).key.name == "count"
                if !isRight { mistakes.add(1, ordering: .relaxed) }
            }
        }
        #expect(mistakes.load(ordering: .relaxed) == 0)
        #expect(slot(\.count) === slot(\.count))
    }
}
