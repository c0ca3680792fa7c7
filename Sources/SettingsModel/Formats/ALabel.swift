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
