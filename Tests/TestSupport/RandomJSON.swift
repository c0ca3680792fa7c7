package import SettingsModel

/// A generator of random JSON values, and of variants of a value that are exactly equal (the order of the members of
/// an object does not matter) or mathematically equal (in addition, the integer 1 equals the double 1.0).
package struct RandomJSON {
    /// The range of leaf values and member names.
    package enum Vocabulary {
        /// All values of Int64, all finite doubles and text of all kinds.
        case wide
        /// Few leaf values and names, so that two random values are often equal.
        case narrow
    }

    package var generator: SeededGenerator
    package let vocabulary: Vocabulary

    package init(_ generator: SeededGenerator, vocabulary: Vocabulary = .wide) {
        self.generator = generator
        self.vocabulary = vocabulary
    }

    /// A random value with at most this many levels.
    package mutating func value(levels: Int) -> JSONValue {
        // Two values of the narrow vocabulary must sometimes be equal, so most of them are leaves. Most values of the
        // wide vocabulary contain other values.
        let isLeaf = levels == 0 || generator.below(5) < (vocabulary == .narrow ? 3 : 1)
        if isLeaf { return leaf() }
        if Bool.random(using: &generator) { return .object(object(levels: levels - 1)) }
        return .array((0..<generator.below(5)).map { _ in value(levels: levels - 1) })
    }

    /// A random object whose values have at most this many levels. Some objects of the wide vocabulary are so large
    /// that `JSONObject` finds their members with an index.
    package mutating func object(levels: Int) -> JSONObject {
        var object = JSONObject()
        let isLarge = vocabulary == .wide && generator.chance(oneIn: 20)
        for _ in 0..<(isLarge ? 40 : generator.below(5)) { object[text()] = value(levels: levels) }
        return object
    }

    package mutating func leaf() -> JSONValue {
        switch generator.below(6) {
        case 0: .null
        case 1: .bool(Bool.random(using: &generator))
        case 2, 3: number()
        default: .string(text())
        }
    }

    package mutating func number() -> JSONValue {
        switch vocabulary {
        case .narrow:
            return generator.pick([.integer(0), .integer(1), .double(0.0), .double(-0.0), .double(0.5), .double(1.0)])
        case .wide:
            if Bool.random(using: &generator) { return .double(finiteDouble()) }
            // A double cannot represent every integer above 2^53.
            let extremes: [Int64] = [0, 1, -1, .max, .min, .max - 1, .min + 1, 1 << 53, 1 << 53 + 1]
            return .integer(
                generator.chance(oneIn: 3) ? generator.pick(extremes) : Int64(bitPattern: generator.next()))
        }
    }

    /// A finite double with random bits.
    package mutating func finiteDouble() -> Double {
        while true {
            let double = Double(bitPattern: generator.next())
            if double.isFinite { return double }
        }
    }

    /// Text with letters, all characters that JSON escapes, both Unicode forms of é and scalars of each length in
    /// UTF-8.
    package mutating func text() -> String {
        if vocabulary == .narrow { return generator.pick(["", "a", "b", "\u{E9}", "e\u{301}"]) }
        let pieces: [String] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\u{0}", "\u{8}", "\t", "\n", "\u{C}", "\r", "\u{1F}", "\u{7F}",
            "\u{E9}",
            "e\u{301}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FEFF}", "\u{FFFF}", "\u{10000}", "\u{1F600}",
            "\u{10FFFF}", "player.volume",
        ]
        var text = ""
        for _ in 0..<generator.below(8) { text += generator.pick(pieces) }
        return text
    }

    /// Returns an exactly equal value: the same value with the members of its objects in another order.
    package mutating func reordered(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map { reordered($0) })
        case .object(let object):
            var shuffled = JSONObject()
            for member in object.members.shuffled(using: &generator) { shuffled[member.name] = reordered(member.value) }
            return .object(shuffled)
        default: return value
        }
    }

    /// Returns a mathematically equal value: a reordered value in which some integers became doubles, some doubles
    /// became integers, and some zeros have the other sign.
    package mutating func respelled(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map { respelled($0) })
        case .object(let object):
            guard case .object(var shuffled) = reordered(value) else { return value }
            for name in object.names { shuffled[name] = shuffled[name].map { respelled($0) } }
            return .object(shuffled)
        case .integer(0): return generator.pick([.integer(0), .double(0.0), .double(-0.0)])
        case .integer(let integer):
            let exact = Double(exactly: integer).map { JSONValue.double($0) }
            return generator.pick([value, exact ?? value])
        case .double(let double):
            let exact = Int64(exactly: double).map { JSONValue.integer($0) }
            return generator.pick([value, exact ?? value])
        default: return value
        }
    }
}
