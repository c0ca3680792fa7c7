import Dispatch
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The table of resolved keys. A resolved key is a key with its state in the adapter. Keys share a resolved key if the
/// bytes of their names, their types and their rules are equal. The rules are the limits, the allowed values, the
/// description and the mark as a secret, but not the default.
@Suite(.ownThread)
struct KeyTableTests {
    struct Keys: DefaultsKeyStore {
        var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
        subscript(limit: Int) -> DefaultsKey<Int> { .init("limited", defaultValue: 0, in: 0...limit) }
        subscript(default value: Int) -> DefaultsKey<Int> { .init("other", defaultValue: value) }
        subscript(numbered number: Int) -> DefaultsKey<Int> { .init("key \(number)", defaultValue: number) }
    }

    @Test("Keys that differ only in their defaults share a resolved key, and each read uses its own default")
    func defaults() {
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        let keys = (0..<3).map { DefaultsKey<Int>("count", defaultValue: $0) }
        #expect(Set(keys.map { ObjectIdentifier(defaults.core.keys.resolve($0)) }).count == 1)
        #expect(keys.map { defaults[key: $0] } == [0, 1, 2])
        #expect((1...20).map { defaults[\.[default: $0]] } == Array(1...20))
    }

    @Test("Keys with different rules have different resolved keys")
    func rules() {
        let table = DefaultsAdapter.inMemory(keyStore: Keys()).core.keys
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
        let resolvedKeys = keys.map { table.resolve($0) }
        #expect(Set(resolvedKeys.map(ObjectIdentifier.init)).count == keys.count)
        for (key, resolved) in zip(keys, resolvedKeys) { #expect(table.resolve(key) === resolved) }
    }

    @Test("Keys whose names differ in one byte are distinct, and keys with one name and different types read one value")
    func names() {
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        // The table compares bytes: two spellings of é, and names that begin with the same eight bytes.
        let names = ["n", "na", "\u{E9}", "e\u{301}", "12345678", "123456789", "1234567812345678"]
        for (number, name) in names.enumerated() { defaults[key: DefaultsKey<Int?>(name)] = number }
        for (number, name) in names.enumerated() {
            #expect(defaults[key: DefaultsKey<Int?>(name)] == number)
            #expect(defaults[key: DefaultsKey<Double?>(name)] == Double(number))
        }
    }

    @Test
    func `Keys and key paths that are created at each use do not grow the table without limit`() {
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        for index in 0...KeyTable.capacity {
            #expect(defaults[key: DefaultsKey<Int>("name \(index)", defaultValue: index)] == index)
            guard index < 500 else { continue }
            #expect(defaults[\.[default: index]] == index && defaults[\.[index % 50]] == 0)
            #expect(defaults[key: DefaultsKey<Int>("n", defaultValue: index, in: 0...index)] == index)
        }
        // `count` is the number of resolved keys, of readings (the cached results of reads with key paths), and of
        // nested stores, of which this test has none. Each number is at most `capacity`. The replica also keeps an
        // entry for each key of the table, and for the key that was added when the table was full.
        #expect(defaults.core.keys.count <= 2 * KeyTable.capacity)
        #expect(defaults.core.session.state.withLock { $0.replica.entries.count } <= KeyTable.capacity + 1)
        defaults[\.[default: 1]] = 70
        #expect(defaults[\.[default: 2]] == 70)
    }

    @Test("Threads that read the same keys at the same time get the expected values")
    func manyThreads() {
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        let mistakes = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<500 {
                let number = (round * 7 + thread) % 500
                let key = DefaultsKey<Int>("limited \(number)", defaultValue: 0, in: 0...number)
                let areValuesExpected =
                    defaults[\.[numbered: number]] == number && defaults[key: key] == 0 && defaults[\.count] == 0
                if !areValuesExpected { mistakes.add(1, ordering: .relaxed) }
            }
        }
        #expect(mistakes.load(ordering: .relaxed) == 0)
    }
}
