import TestSupport
import Testing

@testable import SettingsModel

@Suite("Schemas held against chance")
struct SchemaFuzzTests {
    @Test(
        "Random values are allowed by random schemas exactly where the plain rules allow them",
        arguments: UInt64(1)...12)
    func agreesWithPlainRules(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var allowed = 0
        var compared = 0
        for round in 0..<250 {
            let document = SampleSchema.random(depth: 3, using: &generator)
            let schema = try JSONSchema(document)
            for _ in 0..<8 {
                let value = SampleSchema.value(depth: 3, using: &generator)
                let expected = PlainValidator.allows(value, document)
                let place = "seed \(seed), round \(round): \(value) under \(document)"
                let violations = schema.violations(of: value)
                #expect(schema.allows(value) == expected, "\(place)")
                #expect(violations.isEmpty == expected, "\(place)")
                #expect(violations.allSatisfy { value[$0.pointer] != nil }, "\(place)")
                #expect(schema.allows(schema.normalized(value)) == expected, "\(place)")
                allowed += expected ? 1 : 0
                compared += 1
            }
        }
        #expect(allowed > compared / 5 && allowed < compared * 4 / 5, "seed \(seed): \(allowed) of \(compared)")
    }

    @Test("A key of a suite allows a value exactly if it has no violations of it", arguments: UInt64(1)...6)
    func keysAgree(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<100 {
            let own = SampleSchema.random(depth: 2, using: &generator)
            let patterned = SampleSchema.random(depth: 2, using: &generator)
            let schema = try Schema([
                "properties": ["k": own], "patternProperties": ["^k": patterned], "additionalProperties": patterned,
            ])
            for (name, rules) in [("k", [own, patterned]), ("k2", [patterned]), ("other", [patterned])] {
                let value = SampleSchema.value(depth: 2, using: &generator)
                // A name that only `false` is said of is no key at all.
                guard let key = schema.key(name) else {
                    #expect(rules == [false])
                    continue
                }
                let expected = rules.allSatisfy { PlainValidator.allows(value, $0) }
                #expect(key.allows(value) == expected, "seed \(seed), round \(round): \(name)")
                #expect(key.violations(of: value).isEmpty == expected, "seed \(seed), round \(round): \(name)")
            }
        }
    }

    @Test(
        "Mathematically equal values have one hash and are found equal as the plain rules say", arguments: UInt64(1)...4
    )
    func equality(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let values = (0..<150).map { _ in SampleSchema.value(depth: 2, using: &generator) }
        for left in values {
            for right in values {
                let isEqual = left.isMathematicallyEqual(to: right)
                #expect(isEqual == PlainValidator.isEqual(left, right), "seed \(seed): \(left), \(right)")
                if isEqual { #expect(MathematicalJSON(left).hashValue == MathematicalJSON(right).hashValue) }
            }
        }
    }
}
