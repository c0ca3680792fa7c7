/// E-mail addresses: the `Mailbox` of RFC 5321 section 4.1.2.
///
/// The domain is held to the rules of a host name, lengths and A-labels included, as no mail could be delivered
/// otherwise. The length of the local part is left to the servers, because the RFC makes 64 bytes a size to be
/// supported rather than a rule of the grammar.
enum MailboxSyntax {
    static func accepts(_ bytes: Substring.UTF8View) -> Bool {
        var cursor = ByteCursor(bytes)
        guard takeLocalPart(&cursor), cursor.take("@") else { return false }
        guard cursor.take("[") else { return HostNameSyntax.accepts(cursor.rest) }
        let literal = cursor.take(while: { $0 != UInt8(ascii: "]") })
        return cursor.take("]") && cursor.isAtEnd && isAddressLiteral(literal)
    }

    private static func takeLocalPart(_ cursor: inout ByteCursor) -> Bool {
        if cursor.take("\"") { return takeQuotedText(&cursor) }
        repeat {
            guard !cursor.take(while: isAtomText).isEmpty else { return false }
        } while cursor.take(".")
        return true
    }

    /// Reads on behind the opening quote as far as the closing one.
    private static func takeQuotedText(_ cursor: inout ByteCursor) -> Bool {
        while true {
            _ = cursor.take(while: { isPrintable($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
            if cursor.take("\"") { return true }
            guard cursor.take("\\"), cursor.take(if: isPrintable) else { return false }
        }
    }

    private static func isPrintable(_ byte: UInt8) -> Bool {
        0x20...0x7E ~= byte
    }

    private static func isAtomText(_ byte: UInt8) -> Bool {
        ASCII.isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    /// An IPv4 address or a tagged one; the only tag ever registered is `IPv6`, so any other is refused.
    private static func isAddressLiteral(_ bytes: Substring.UTF8View) -> Bool {
        if IPv4Syntax.accepts(bytes, allowingLeadingZeros: true) { return true }
        var cursor = ByteCursor(bytes)
        let tag = cursor.take(while: { $0 != UInt8(ascii: ":") })
        return tag.map(ASCII.lowercased).elementsEqual("ipv6".utf8) && cursor.take(":")
            && IPv6Syntax.accepts(cursor.rest, dialect: .mail)
    }
}
