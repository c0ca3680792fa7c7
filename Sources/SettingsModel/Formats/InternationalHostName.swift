/// Labels of internationalized host names in the form in which DNS sees them: `xn--` and Punycode.
enum ALabel {
    static func hasPrefix(_ label: Substring.UTF8View) -> Bool {
        label.prefix(4).map(ASCII.lowercased).elementsEqual("xn--".utf8)
    }

    /// The label in Unicode, or nil if IDNA 2008 allows no such label (RFC 5891 sections 4.2 and 5.4).
    ///
    /// No need to encode the result again for comparison: lower-case Punycode that decodes at all is the only
    /// encoding of what it decodes to, provided that something outside ASCII comes out.
    static func decoded(_ label: Substring.UTF8View) -> [Unicode.Scalar]? {
        guard let scalars = Punycode.decoded(label.dropFirst(4).map(ASCII.lowercased)), isULabel(scalars) else {
            return nil
        }
        return scalars
    }

    private static func isULabel(_ scalars: [Unicode.Scalar]) -> Bool {
        guard let first = scalars.first, scalars.contains(where: { !$0.isASCII }) else { return false }
        return !isMark(first) && hasHyphensInPlace(scalars) && scalars.allSatisfy(IDNAProperty.permits)
            && ContextRules.areObeyed(in: scalars) && ComposedForm.isObeyed(by: scalars)
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    private static func hasHyphensInPlace(_ scalars: [Unicode.Scalar]) -> Bool {
        scalars.first != "-" && scalars.last != "-" && !scalars.dropFirst(2).prefix(2).elementsEqual(["-", "-"])
    }
}

/// The decoder of RFC 3492.
enum Punycode {
    private static let base = 36
    private static let smallestThreshold = 1
    private static let largestThreshold = 26

    /// The text that `bytes`, lower-case ASCII, stands for, or nil if they are no Punycode.
    ///
    /// Insertion makes this quadratic, so it is meant for labels, which have 63 bytes at most.
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
            guard let delta = takeDelta(&input, bias: bias, limit: 0x11_0000 * (output.count + 1)) else { return nil }
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

    /// Reads one variable-length number, nil if it is cut off or exceeds `limit`.
    ///
    /// A digit that is not the last of its number is 1 or more, so the weight never outgrows the sum, and the limit
    /// keeps both far from overflow.
    private static func takeDelta(_ input: inout ArraySlice<UInt8>, bias: Int, limit: Int) -> Int? {
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

/// Which characters a label in Unicode may contain: the derived property of RFC 5892 section 3.
///
/// It is computed from the properties of the Unicode version that Swift knows, as the RFC intends, so characters that
/// Unicode adds become permitted with a newer Swift.
enum IDNAProperty {
    /// Whether `scalar` is PVALID, or is CONTEXTJ or CONTEXTO and so permitted where `ContextRules` agree.
    ///
    /// The order of the questions matters, the first that applies decides.
    static func permits(_ scalar: Unicode.Scalar) -> Bool {
        if let isPermitted = exception(for: scalar) { return isPermitted }
        if scalar.isASCII { return isLetterDigitHyphen(scalar) }
        if isJoinControl(scalar) { return true }
        return !isOldHangulJamo(scalar) && !isUnstable(scalar) && !isIgnorable(scalar) && isLetterOrDigit(scalar)
    }

    /// Section 2.6, where the general rules go wrong.
    private static func exception(for scalar: Unicode.Scalar) -> Bool? {
        switch scalar {
        case "\u{DF}", "\u{3C2}", "\u{6FD}", "\u{6FE}", "\u{F0B}", "\u{3007}": true
        case "\u{B7}", "\u{375}", "\u{5F3}", "\u{5F4}", "\u{30FB}": true
        case "\u{660}"..."\u{669}", "\u{6F0}"..."\u{6F9}": true
        case "\u{640}", "\u{7FA}", "\u{302E}", "\u{302F}", "\u{3031}"..."\u{3035}", "\u{303B}": false
        default: nil
        }
    }

    private static func isLetterDigitHyphen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "0"..."9", "-": true
        default: false
        }
    }

    private static func isJoinControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    /// Syllables have characters of their own; those built from conjoining letters would look the same.
    private static func isOldHangulJamo(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{1100}"..."\u{11FF}", "\u{A960}"..."\u{A97C}", "\u{D7B0}"..."\u{D7FB}": true
        default: false
        }
    }

    /// Characters that case folding or compatibility normalization would turn into others.
    ///
    /// The property used also covers the ignorable characters, which are refused all the same.
    private static func isUnstable(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.changesWhenNFKCCaseFolded
    }

    private static func isIgnorable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{20D0}"..."\u{20FF}", "\u{1D100}"..."\u{1D1FF}", "\u{1D200}"..."\u{1D24F}": true
        default:
            scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isWhitespace
                || scalar.properties.isNoncharacterCodePoint
        }
    }

    private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .uppercaseLetter, .otherLetter, .modifierLetter: true
        case .nonspacingMark, .spacingMark, .decimalNumber: true
        default: false
        }
    }
}

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

/// The rule of RFC 5893 section 2, which keeps labels legible where right-to-left text occurs.
///
/// Bidi classes are approximated, as Swift does not know Bidi_Class: right-to-left letters are told by their block,
/// marks by their category, and what is neither is taken for left-to-right. For the characters that IDNA permits this
/// is what Unicode says, up to unassigned ones.
enum BidiRule {
    private enum Class {
        case leftToRight
        case rightToLeft
        case europeanNumber
        case arabicNumber
        case mark
        /// Hyphens, joiners and punctuation, none of which the rule treats differently from another.
        case neutral
    }

    /// Whether a label makes its whole host name subject to the rule.
    static func concerns(_ label: [Unicode.Scalar]) -> Bool {
        label.contains { scalar in
            let bidiClass = self.bidiClass(of: scalar)
            return bidiClass == .rightToLeft || bidiClass == .arabicNumber
        }
    }

    static func isObeyed(by label: [Unicode.Scalar]) -> Bool {
        let classes = label.map(bidiClass)
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

    private static func bidiClass(of scalar: Unicode.Scalar) -> Class {
        switch scalar.value {
        case 0x30...0x39, 0x6F0...0x6F9: .europeanNumber
        case 0x660...0x669, 0x10D30...0x10D39: .arabicNumber
        case 0x2D, 0xB7, 0x2B9...0x2BA, 0x2C6...0x2CF, 0x2EC, 0x375: .neutral
        case 0x200C...0x200D, 0x2E2F, 0x30FB, 0xA67F, 0xA717...0xA71F, 0xA788: .neutral
        case 0xCBF, 0xCC6, 0x11A07...0x11A08, 0x11C3F: .leftToRight
        default:
            if scalar.properties.generalCategory == .nonspacingMark {
                .mark
            } else if isInRightToLeftBlock(scalar) {
                .rightToLeft
            } else {
                .leftToRight
            }
        }
    }

    private static func isInRightToLeftBlock(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
        default: false
        }
    }
}

/// Normalization Form C, which RFC 5891 demands of a label.
///
/// Swift's standard library cannot normalize a text, but compares texts by canonical equivalence, so a letter and a
/// mark compose exactly when they equal a text of one character. That is enough here, because characters that
/// normalization always replaces are not permitted in a label in the first place (`IDNAProperty`), and neither are
/// conjoining letters of Hangul.
enum ComposedForm {
    /// Whether the characters of a label, each of them permitted, are in order and leave nothing to compose.
    static func isObeyed(by label: [Unicode.Scalar]) -> Bool {
        var starter: Unicode.Scalar?
        var previousClass: UInt8 = 0
        for scalar in label {
            let combiningClass = scalar.properties.canonicalCombiningClass.rawValue
            let isInOrder = combiningClass == 0 || previousClass <= combiningClass
            guard isInOrder else { return false }
            // A mark behind another of its own class, or anything behind a second starter, cannot reach the letter.
            let isAdjacent = previousClass == 0 || previousClass < combiningClass
            if let starter, isAdjacent, compose(starter, scalar) { return false }
            if combiningClass == 0 { starter = scalar }
            previousClass = combiningClass
        }
        return true
    }

    private static func compose(_ letter: Unicode.Scalar, _ mark: Unicode.Scalar) -> Bool {
        guard !mark.isASCII else { return false }
        var pair = String(letter)
        pair.unicodeScalars.append(mark)
        return composites.contains(pair)
    }

    /// All permitted characters that some letter and mark compose to, among others that cannot equal any pair.
    private static let composites: Set<String> = {
        var composites: Set<String> = []
        for value in ranges.joined() {
            guard let scalar = Unicode.Scalar(value), !scalar.properties.isFullCompositionExclusion else { continue }
            composites.insert(String(scalar))
        }
        return composites
    }()

    /// Where those characters are, as of Unicode 17; Hangul syllables left out.
    private static let ranges: [ClosedRange<UInt32>] = [
        0xE0...0x17E, 0x1A1...0x1B0, 0x1CE...0x233, 0x390...0x390, 0x3AC...0x3B0, 0x3CA...0x3CE, 0x439...0x439,
        0x450...0x45E, 0x477...0x477, 0x4C2...0x4F9, 0x622...0x626, 0x6C0...0x6C2, 0x6D3...0x6D3, 0x929...0x934,
        0x9CB...0x9CC, 0xB48...0xB4C, 0xB94...0xB94, 0xBCA...0xBCC, 0xC48...0xC48, 0xCC0...0xCCB, 0xD4A...0xD4C,
        0xDDA...0xDDE, 0x1026...0x1026, 0x1B06...0x1B12, 0x1B3B...0x1B43, 0x1E01...0x1F7C, 0x1FB0...0x1FF6,
        0x304C...0x307D, 0x3094...0x30DD, 0x30F4...0x30FE, 0x105C9...0x105C9, 0x105E4...0x105E4,
        0x1109A...0x110AB, 0x1112E...0x1112F, 0x1134B...0x1134C, 0x11383...0x11391, 0x113C5...0x113C8,
        0x114BB...0x114BE, 0x115BA...0x115BB, 0x11938...0x11938, 0x16121...0x16128, 0x16D68...0x16D6A,
    ]
}

/// A set of characters as ascending ranges of code points.
struct ScalarRanges: Sendable {
    private let ranges: [ClosedRange<UInt32>]

    /// `ranges` are ascending and do not overlap.
    init(_ ranges: [ClosedRange<UInt32>]) {
        self.ranges = ranges
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var lower = 0
        var upper = ranges.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if ranges[middle].upperBound < scalar.value {
                lower = middle + 1
            } else {
                upper = middle
            }
        }
        return lower < ranges.count && ranges[lower].contains(scalar.value)
    }
}

/// The scripts that context rules ask for, as of Unicode 17.
///
/// Swift knows no Script property. Only characters that IDNA permits are ever looked up, so a range may run over
/// others.
enum Script {
    static let greek = ScalarRanges([
        0x370...0x373, 0x375...0x377, 0x37B...0x37D, 0x37F...0x37F, 0x384...0x384, 0x386...0x386, 0x388...0x3E1,
        0x3F0...0x3FF, 0x1D26...0x1D2A, 0x1D5D...0x1D61, 0x1D66...0x1D6A, 0x1DBF...0x1DBF, 0x1F00...0x1FFE,
        0xAB65...0xAB65,
    ])

    static let hebrew = ScalarRanges([0x591...0x5F4, 0xFB1D...0xFB4F])

    /// Hiragana, Katakana and Han; the prolonged sound mark, which the scripts share, belongs to none of them.
    static let japanese = ScalarRanges([
        0x3005...0x3005, 0x3007...0x3007, 0x3041...0x3096, 0x309D...0x309F, 0x30A1...0x30FA, 0x30FD...0x30FF,
        0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAD9, 0x16FE2...0x16FE3, 0x16FF0...0x16FF6,
        0x1AFF0...0x1AFFF, 0x1B000...0x1B122, 0x1B132...0x1B132, 0x1B150...0x1B152, 0x1B155...0x1B155,
        0x1B164...0x1B167, 0x20000...0x2FA1F, 0x30000...0x3347F,
    ])
}

/// How letters of cursive scripts join their neighbours (Joining_Type), as of Unicode 17.
///
/// Swift does not know this property. Only characters that IDNA permits and that are not transparent are looked up in
/// the ranges, so a range may run over others.
enum JoiningType {
    /// Marks, which joining looks through. Of the permitted characters no others are transparent, save one modifier
    /// letter of Adlam.
    static func isTransparent(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .nonspacingMark || scalar == "\u{1E94B}"
    }

    /// Types L and D: joined to the letter that follows.
    static let joinsFollowing = ScalarRanges([
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

    /// Types R and D: joined to the letter that precedes.
    static let joinsPreceding = ScalarRanges([
        0x620...0x620, 0x622...0x64A, 0x66E...0x66F, 0x671...0x673, 0x679...0x6D5, 0x6EE...0x6EF, 0x6FA...0x6FC,
        0x6FF...0x77F, 0x7CA...0x7EA, 0x840...0x858, 0x860...0x860, 0x862...0x865, 0x867...0x882, 0x886...0x886,
        0x889...0x88F, 0x8A0...0x8AC, 0x8AE...0x8C8, 0x1820...0x1878, 0x1887...0x18AA, 0xA840...0xA871,
        0x10AC0...0x10AC5, 0x10AC7...0x10ACA, 0x10ACE...0x10AD6, 0x10AD8...0x10AE1, 0x10AE4...0x10AE4,
        0x10B80...0x10B91, 0x10D01...0x10D23, 0x10EC2...0x10EC4, 0x10EC6...0x10EC7, 0x10F30...0x10F44,
        0x10F70...0x10F81, 0x10FB0...0x10FB0, 0x10FB2...0x10FB6, 0x10FB8...0x10FBF, 0x10FC1...0x10FC4,
        0x1E922...0x1E943,
    ])
}
