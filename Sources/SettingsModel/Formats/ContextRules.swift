/// The rules of RFC 5892 appendix A for characters that only some neighbours make acceptable.
enum ContextRules {
    /// Whether every character of a label that has a rule obeys it.
    static func areObeyed(in label: [Unicode.Scalar]) -> Bool {
        label.indices.allSatisfy { isObeyed(at: $0, in: label) }
    }

    private static func isObeyed(at index: Int, in label: [Unicode.Scalar]) -> Bool {
        let before = label[..<index]
        let after = label[(index + 1)...]
        switch label[index] {
        case "\u{200C}":  // zero width non-joiner
            return followsVirama(before) || breaksConnection(before, after)
        case "\u{200D}":  // zero width joiner
            return followsVirama(before)
        case "\u{B7}":  // middle dot, of Catalan
            return before.last == "l" && after.first == "l"
        case "\u{375}":  // Greek lower numeral sign
            return after.first.map(Script.greek.contains) ?? false
        case "\u{5F3}", "\u{5F4}":  // Hebrew geresh and gershayim
            return before.last.map(Script.hebrew.contains) ?? false
        case "\u{30FB}":  // katakana middle dot
            return label.contains(where: Script.japanese.contains)
        case "\u{660}"..."\u{669}":
            return !label.contains { "\u{6F0}"..."\u{6F9}" ~= $0 }
        case "\u{6F0}"..."\u{6F9}":
            return !label.contains { "\u{660}"..."\u{669}" ~= $0 }
        default:
            return true
        }
    }

    private static func followsVirama(_ before: ArraySlice<Unicode.Scalar>) -> Bool {
        before.last?.properties.canonicalCombiningClass == .virama
    }

    /// Whether a non-joiner stands between two letters that would join without it, marks in between not counting.
    private static func breaksConnection(
        _ before: ArraySlice<Unicode.Scalar>, _ after: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        guard let left = before.last(where: { !JoiningType.isTransparent($0) }),
            let right = after.first(where: { !JoiningType.isTransparent($0) })
        else { return false }
        return JoiningType.joinsFollowing.contains(left) && JoiningType.joinsPreceding.contains(right)
    }
}
