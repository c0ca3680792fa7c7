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
