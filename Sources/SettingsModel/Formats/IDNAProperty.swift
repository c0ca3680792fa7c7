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
