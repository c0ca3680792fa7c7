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
