/// Host names: RFC 1123 section 2.1, with labels beginning `xn--` held to IDNA 2008.
///
/// A label such as `ab--cd`, which IDNA sets aside but DNS does not, is an ordinary label here; such hosts exist.
enum HostNameSyntax {
    /// What fits into the 255 bytes of RFC 1035, where every label is preceded by its length and a zero ends the name.
    private static let longestName = 253
    private static let longestLabel = 63

    static func accepts(_ bytes: Substring.UTF8View) -> Bool {
        guard bytes.count <= longestName else { return false }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy(isLabel), !isDottedDecimal(labels) else { return false }
        guard labels.contains(where: ALabel.hasPrefix) else { return true }
        return isInternationalName(labels)
    }

    private static func isLabel(_ bytes: Substring.UTF8View) -> Bool {
        guard 1...longestLabel ~= bytes.count, bytes.first != UInt8(ascii: "-"), bytes.last != UInt8(ascii: "-") else {
            return false
        }
        return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// RFC 1123: a host name never has the form of an IPv4 address, its numbers in range or not.
    private static func isDottedDecimal(_ labels: [Substring.UTF8View]) -> Bool {
        labels.count == 4 && labels.allSatisfy { $0.allSatisfy(ASCII.isDigit) }
    }

    /// The bidi rule looks at all labels once a single one contains a right-to-left character.
    private static func isInternationalName(_ labels: [Substring.UTF8View]) -> Bool {
        var unicodeLabels: [[Unicode.Scalar]] = []
        for label in labels {
            if ALabel.hasPrefix(label) {
                guard let decoded = ALabel.decoded(label) else { return false }
                unicodeLabels.append(decoded)
            } else {
                unicodeLabels.append(label.map { Unicode.Scalar(ASCII.lowercased($0)) })
            }
        }
        return !unicodeLabels.contains(where: BidiRule.concerns) || unicodeLabels.allSatisfy(BidiRule.isObeyed(by:))
    }
}
