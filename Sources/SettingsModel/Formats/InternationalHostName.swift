/// Validates the labels of internationalized host names in the form that DNS uses: `xn--` followed by Punycode (IDNA
/// 2008).
///
/// The Swift library has most of the Unicode properties that the rules need, so a newer library also allows the
/// characters that Unicode has added. The library lacks scripts, joining types, directions and composition, so the
/// tables below contain this data for Unicode 17. The code looks up only permitted characters in the tables, so a range
/// may also contain characters that are not permitted.
enum InternationalHostName {
    /// True if a label begins with `xn--`.
    static func isInternational(_ label: ArraySlice<UInt8>) -> Bool {
        label.prefix(4).map(ASCII.lowercased).elementsEqual("xn--".utf8)
    }

    /// True if IDNA 2008 allows a host name. The caller has checked that each label consists of ASCII letters, digits
    /// and hyphens, and that at least one label begins with `xn--`.
    static func accepts(_ labels: [ArraySlice<UInt8>]) -> Bool {
        var unicodeLabels: [[Unicode.Scalar]] = []
        for label in labels {
            if isInternational(label) {
                // A text has only one encoding in lower-case Punycode, so the decoded text need not be encoded again
                // for comparison.
                let bytes = label.dropFirst(4).map(ASCII.lowercased)
                guard let decoded = Punycode.decoded(bytes), isAllowed(decoded) else { return false }
                unicodeLabels.append(decoded)
            } else {
                unicodeLabels.append(label.map { Unicode.Scalar(ASCII.lowercased($0)) })
            }
        }
        // If one label has a right-to-left character or an Arabic number, the bidi rule applies to all labels.
        let classes = unicodeLabels.map { $0.map(bidiClass) }
        let hasRightToLeft = classes.contains { $0.contains(.rightToLeft) || $0.contains(.arabicNumber) }
        return !hasRightToLeft || classes.allSatisfy(obeysBidiRule)
    }

    /// True if RFC 5891 allows the decoded label (sections 4.2 and 5.4).
    private static func isAllowed(_ label: [Unicode.Scalar]) -> Bool {
        guard let first = label.first, label.contains(where: { !$0.isASCII }), !isMark(first),
            first != "-", label.last != "-", !label.dropFirst(2).prefix(2).elementsEqual(["-", "-"])
        else { return false }
        return label.allSatisfy(isPermitted) && label.indices.allSatisfy { obeysContextRule(at: $0, in: label) }
            && isComposed(label)
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}

/// The rules of RFC 5892 for single characters: the derived property of section 3, and the context rules of appendix A.
extension InternationalHostName {
    /// True if the derived property of a character is PVALID, CONTEXTJ or CONTEXTO. Characters with CONTEXTJ and
    /// CONTEXTO must also obey a context rule. The first case that matches the character decides.
    private static func isPermitted(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        switch scalar {
        // RFC 5892 section 2.6: exceptions to the general rules.
        case "\u{DF}", "\u{3C2}", "\u{6FD}", "\u{6FE}", "\u{F0B}", "\u{3007}": return true
        case "\u{B7}", "\u{375}", "\u{5F3}", "\u{5F4}", "\u{30FB}": return true
        case "\u{660}"..."\u{669}", "\u{6F0}"..."\u{6F9}": return true
        case "\u{640}", "\u{7FA}", "\u{302E}", "\u{302F}", "\u{3031}"..."\u{3035}", "\u{303B}": return false
        case "a"..."z", "0"..."9", "-": return true
        case "\u{200C}", "\u{200D}": return true
        case _ where scalar.isASCII: return false
        // Conjoining Hangul letters, which look like syllables when they are combined.
        case "\u{1100}"..."\u{11FF}", "\u{A960}"..."\u{A97C}", "\u{D7B0}"..."\u{D7FB}": return false
        // Combining musical and Greek symbols.
        case "\u{20D0}"..."\u{20FF}", "\u{1D100}"..."\u{1D1FF}", "\u{1D200}"..."\u{1D24F}": return false
        default: break
        }
        if properties.changesWhenNFKCCaseFolded || properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .lowercaseLetter, .uppercaseLetter, .otherLetter, .modifierLetter: return true
        case .nonspacingMark, .spacingMark, .decimalNumber: return true
        default: return false
        }
    }

    /// True if a character obeys its context rule of RFC 5892 appendix A, which usually demands certain neighbouring
    /// characters. A character without a context rule always obeys.
    private static func obeysContextRule(at index: Int, in label: [Unicode.Scalar]) -> Bool {
        let before = label[..<index]
        let after = label[(index + 1)...]
        switch label[index] {
        case "\u{200C}":  // zero width non-joiner
            return followsVirama(before) || separatesJoiningLetters(before, after)
        case "\u{200D}":  // zero width joiner
            return followsVirama(before)
        case "\u{B7}":  // middle dot, of Catalan
            return before.last == "l" && after.first == "l"
        case "\u{375}":  // Greek lower numeral sign
            return after.first.map { greek.contains($0.value) } ?? false
        case "\u{5F3}", "\u{5F4}":  // Hebrew geresh and gershayim
            return before.last.map { hebrew.contains($0.value) } ?? false
        case "\u{30FB}":  // katakana middle dot
            return label.contains { japanese.contains($0.value) }
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

    /// True if a zero-width non-joiner is between two letters that would be joined without it. Marks between the
    /// letters are ignored.
    private static func separatesJoiningLetters(
        _ before: ArraySlice<Unicode.Scalar>, _ after: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        // U+1E94B, a modifier letter of Adlam, is also transparent.
        func isOpaque(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.generalCategory != .nonspacingMark && scalar != "\u{1E94B}"
        }
        guard let left = before.last(where: isOpaque), let right = after.first(where: isOpaque) else { return false }
        return joinsFollowing.contains(left.value) && joinsPreceding.contains(right.value)
    }

    private static let greek = ScalarSet([
        0x370...0x373, 0x375...0x377, 0x37B...0x37D, 0x37F...0x37F, 0x384...0x384, 0x386...0x386, 0x388...0x3E1,
        0x3F0...0x3FF, 0x1D26...0x1D2A, 0x1D5D...0x1D61, 0x1D66...0x1D6A, 0x1DBF...0x1DBF, 0x1F00...0x1FFE,
        0xAB65...0xAB65,
    ])

    private static let hebrew = ScalarSet([0x591...0x5F4, 0xFB1D...0xFB4F])

    /// Hiragana, Katakana and Han, without the prolonged sound mark that the scripts share.
    private static let japanese = ScalarSet([
        0x3005...0x3005, 0x3007...0x3007, 0x3041...0x3096, 0x309D...0x309F, 0x30A1...0x30FA, 0x30FD...0x30FF,
        0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAD9, 0x16FE2...0x16FE3, 0x16FF0...0x16FF6,
        0x1AFF0...0x1AFFF, 0x1B000...0x1B122, 0x1B132...0x1B132, 0x1B150...0x1B152, 0x1B155...0x1B155,
        0x1B164...0x1B167, 0x20000...0x2FA1F, 0x30000...0x3347F,
    ])

    /// Joining types L and D: the letter joins to the following letter.
    private static let joinsFollowing = ScalarSet([
        0x620...0x620, 0x626...0x626, 0x628...0x628, 0x62A...0x62E, 0x633...0x647, 0x649...0x64A, 0x66E...0x66F,
        0x679...0x687, 0x69A...0x6BF, 0x6C1...0x6C2, 0x6CC...0x6CC, 0x6CE...0x6CE, 0x6D0...0x6D1, 0x6FA...0x6FC,
        0x6FF...0x6FF, 0x712...0x714, 0x71A...0x71D, 0x71F...0x727, 0x729...0x729, 0x72B...0x72B, 0x72D...0x72E,
        0x74E...0x758, 0x75C...0x76A, 0x76D...0x770, 0x772...0x772, 0x775...0x777, 0x77A...0x77F, 0x7CA...0x7EA,
        0x841...0x845, 0x848...0x848, 0x84A...0x853, 0x855...0x855, 0x860...0x860, 0x862...0x865, 0x868...0x868,
        0x886...0x886, 0x889...0x88D, 0x88F...0x88F, 0x8A0...0x8A9, 0x8AF...0x8B0, 0x8B3...0x8B8, 0x8BA...0x8C8,
        0x1820...0x1878, 0x1887...0x18AA, 0xA840...0xA872, 0x10AC0...0x10AC4, 0x10ACD...0x10ACD,
        0x10AD3...0x10ADC, 0x10ADE...0x10AE0, 0x10B80...0x10B80, 0x10B82...0x10B82, 0x10B86...0x10B88,
        0x10B8A...0x10B8B, 0x10B8D...0x10B8D, 0x10B90...0x10B90, 0x10D00...0x10D21, 0x10D23...0x10D23,
        0x10EC3...0x10EC4, 0x10EC6...0x10EC7, 0x10F30...0x10F32, 0x10F34...0x10F44, 0x10F70...0x10F73,
        0x10F76...0x10F81, 0x10FB0...0x10FB0, 0x10FB2...0x10FB3, 0x10FB8...0x10FB8, 0x10FBB...0x10FBC,
        0x10FBE...0x10FBF, 0x10FC1...0x10FC1, 0x10FC4...0x10FC4, 0x1E922...0x1E943,
    ])

    /// Joining types R and D: the letter joins to the preceding letter.
    private static let joinsPreceding = ScalarSet([
        0x620...0x620, 0x622...0x64A, 0x66E...0x66F, 0x671...0x673, 0x679...0x6D5, 0x6EE...0x6EF, 0x6FA...0x6FC,
        0x6FF...0x77F, 0x7CA...0x7EA, 0x840...0x858, 0x860...0x860, 0x862...0x865, 0x867...0x882, 0x886...0x886,
        0x889...0x88F, 0x8A0...0x8AC, 0x8AE...0x8C8, 0x1820...0x1878, 0x1887...0x18AA, 0xA840...0xA871,
        0x10AC0...0x10AC5, 0x10AC7...0x10ACA, 0x10ACE...0x10AD6, 0x10AD8...0x10AE1, 0x10AE4...0x10AE4,
        0x10B80...0x10B91, 0x10D01...0x10D23, 0x10EC2...0x10EC4, 0x10EC6...0x10EC7, 0x10F30...0x10F44,
        0x10F70...0x10F81, 0x10FB0...0x10FB0, 0x10FB2...0x10FB6, 0x10FB8...0x10FBF, 0x10FC1...0x10FC4,
        0x1E922...0x1E943,
    ])
}

/// The bidi rule of RFC 5893 section 2.
///
/// The Swift library does not have the property Bidi_Class. The code recognises right-to-left letters by their block
/// and marks by their category, lists numbers and neutral characters, and treats all other characters as left-to-right.
/// The resulting classes agree with Unicode 17 for all permitted characters.
extension InternationalHostName {
    private enum BidiClass {
        case leftToRight
        case rightToLeft
        case europeanNumber
        case arabicNumber
        case mark
        /// Hyphens, joiners and punctuation. The rule treats them alike.
        case neutral
    }

    private static func obeysBidiRule(_ classes: [BidiClass]) -> Bool {
        let last = classes.last { $0 != .mark }
        switch classes.first {
        case .leftToRight:
            return !classes.contains(.rightToLeft) && !classes.contains(.arabicNumber)
                && (last == .leftToRight || last == .europeanNumber)
        case .rightToLeft:
            return !classes.contains(.leftToRight)
                && !(classes.contains(.europeanNumber) && classes.contains(.arabicNumber))
                && last != .neutral
        default:
            return false
        }
    }

    private static func bidiClass(of scalar: Unicode.Scalar) -> BidiClass {
        switch scalar.value {
        case 0x30...0x39, 0x6F0...0x6F9: .europeanNumber
        case 0x660...0x669, 0x10D30...0x10D39: .arabicNumber
        case 0x2D, 0xB7, 0x2B9...0x2BA, 0x2C6...0x2CF, 0x2EC, 0x375: .neutral
        case 0x200C...0x200D, 0x2E2F, 0x30FB, 0xA67F, 0xA717...0xA71F, 0xA788: .neutral
        // Nonspacing marks that are left-to-right, unlike all others.
        case 0xCBF, 0xCC6, 0x11A07...0x11A08, 0x11C3F: .leftToRight
        case _ where scalar.properties.generalCategory == .nonspacingMark: .mark
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: .rightToLeft
        default: .leftToRight
        }
    }
}

/// Normalization Form C, which RFC 5891 demands.
///
/// Swift compares strings by canonical equivalence, so a letter and a mark compose if and only if they equal a string
/// of one character. This test is sufficient, because characters that normalization always replaces are not permitted.
extension InternationalHostName {
    /// True if a label of permitted characters is in Normalization Form C.
    private static func isComposed(_ label: [Unicode.Scalar]) -> Bool {
        var starter: Unicode.Scalar?
        var previousClass: UInt8 = 0
        for scalar in label {
            let combiningClass = scalar.properties.canonicalCombiningClass.rawValue
            guard combiningClass == 0 || previousClass <= combiningClass else { return false }
            // A character composes with the last starter only if it follows the starter directly, or if all marks
            // between them have a lower class.
            let isAdjacent = previousClass == 0 || previousClass < combiningClass
            if let starter, isAdjacent, !scalar.isASCII, composites.contains(String(starter) + String(scalar)) {
                return false
            }
            if combiningClass == 0 { starter = scalar }
            previousClass = combiningClass
        }
        return true
    }

    /// The permitted characters to which a letter and a mark compose. The set also has a few characters that are not
    /// compositions.
    private static let composites = Set(
        compositeRanges.joined().compactMap(Unicode.Scalar.init)
            .filter { !$0.properties.isFullCompositionExclusion }.map { String($0) })

    /// The blocks of the characters in ``composites``, without Hangul syllables.
    private static let compositeRanges: [ClosedRange<UInt32>] = [
        0xE0...0x17E, 0x1A1...0x1B0, 0x1CE...0x233, 0x390...0x390, 0x3AC...0x3B0, 0x3CA...0x3CE, 0x439...0x439,
        0x450...0x45E, 0x477...0x477, 0x4C2...0x4F9, 0x622...0x626, 0x6C0...0x6C2, 0x6D3...0x6D3, 0x929...0x934,
        0x9CB...0x9CC, 0xB48...0xB4C, 0xB94...0xB94, 0xBCA...0xBCC, 0xC48...0xC48, 0xCC0...0xCCB, 0xD4A...0xD4C,
        0xDDA...0xDDE, 0x1026...0x1026, 0x1B06...0x1B12, 0x1B3B...0x1B43, 0x1E01...0x1F7C, 0x1FB0...0x1FF6,
        0x304C...0x307D, 0x3094...0x30DD, 0x30F4...0x30FE, 0x105C9...0x105C9, 0x105E4...0x105E4,
        0x1109A...0x110AB, 0x1112E...0x1112F, 0x1134B...0x1134C, 0x11383...0x11391, 0x113C5...0x113C8,
        0x114BB...0x114BE, 0x115BA...0x115BB, 0x11938...0x11938, 0x16121...0x16128, 0x16D68...0x16D6A,
    ]
}

/// The decoder of RFC 3492, with the parameters of its section 5 (initial bias 72, damp 700, skew 38). It takes
/// quadratic time, which is acceptable because a label has at most 63 bytes.
private enum Punycode {
    private static let base = 36
    private static let smallestThreshold = 1
    private static let largestThreshold = 26

    /// Decodes lower-case ASCII bytes. Returns nil if they are not valid Punycode.
    static func decoded(_ bytes: [UInt8]) -> [Unicode.Scalar]? {
        var output: [Unicode.Scalar] = []
        var input = bytes[...]
        if let delimiter = bytes.lastIndex(of: UInt8(ascii: "-")), delimiter > 0 {
            output = bytes[..<delimiter].map { Unicode.Scalar($0) }
            input = bytes[(delimiter + 1)...]
        }
        var codePoint = 0x80
        var position = 0
        var bias = 72
        var isFirst = true
        while !input.isEmpty {
            guard let delta = consumeDelta(&input, bias: bias, limit: 0x11_0000 * (output.count + 1)) else {
                return nil
            }
            let length = output.count + 1
            bias = adaptedBias(delta, length: length, isFirst: isFirst)
            isFirst = false
            codePoint += (position + delta) / length
            position = (position + delta) % length
            guard let value = UInt32(exactly: codePoint), let scalar = Unicode.Scalar(value) else { return nil }
            output.insert(scalar, at: position)
            position += 1
        }
        return output
    }

    /// Reads one variable-length number. Returns nil if the number is incomplete or exceeds `limit`, which prevents an
    /// overflow.
    private static func consumeDelta(_ input: inout ArraySlice<UInt8>, bias: Int, limit: Int) -> Int? {
        var delta = 0
        var weight = 1
        var step = base
        while let digit = input.popFirst().flatMap(digitValue) {
            delta += digit * weight
            guard delta <= limit else { return nil }
            let threshold = min(max(step - bias, smallestThreshold), largestThreshold)
            if digit < threshold { return delta }
            weight *= base - threshold
            step += base
        }
        return nil
    }

    private static func digitValue(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x61...0x7A: Int(byte) - 0x61
        case 0x30...0x39: Int(byte) - 0x30 + 26
        default: nil
        }
    }

    private static func adaptedBias(_ delta: Int, length: Int, isFirst: Bool) -> Int {
        let skew = 38
        var remaining = isFirst ? delta / 700 : delta / 2
        remaining += remaining / length
        var bias = 0
        while remaining > (base - smallestThreshold) * largestThreshold / 2 {
            remaining /= base - smallestThreshold
            bias += base
        }
        return bias + (base - smallestThreshold + 1) * remaining / (remaining + skew)
    }
}
