/// Validates host names: RFC 1123 section 2.1, and IDNA 2008 for labels that begin with `xn--`.
///
/// IDNA reserves labels such as `ab--cd`. This validator treats them as ordinary labels, because DNS allows them and
/// hosts with such labels exist.
enum HostNameSyntax {
    /// The maximum number of bytes in a name. RFC 1035 allows 255 bytes, including a length byte before the first label
    /// and a zero byte at the end.
    private static let longestName = 253
    private static let longestLabel = 63
    private static let characters = ByteSet.lettersAndDigits.union("-")

    static func accepts(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count <= longestName else { return false }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy(isLabel), !isDottedDecimal(labels) else { return false }
        return !labels.contains(where: InternationalHostName.isInternational) || InternationalHostName.accepts(labels)
    }

    private static func isLabel(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard 1...longestLabel ~= bytes.count, bytes.first != UInt8(ascii: "-"), bytes.last != UInt8(ascii: "-") else {
            return false
        }
        return bytes.allSatisfy(characters.contains)
    }

    /// True if a name has the form of an IPv4 address, even if the numbers are out of range. RFC 1123 does not allow
    /// host names of this form.
    private static func isDottedDecimal(_ labels: [ArraySlice<UInt8>]) -> Bool {
        labels.count == 4 && labels.allSatisfy { $0.allSatisfy(ASCII.isDigit) }
    }
}

/// Validates e-mail addresses: `Mailbox` in RFC 5321 section 4.1.2.
///
/// The domain must be a valid host name or an address in brackets, because mail to any other domain cannot be
/// delivered. The local part may have more than 64 bytes, because the RFC imposes this limit on servers and not on
/// addresses.
enum MailboxSyntax {
    private static let atomText = ByteSet.lettersAndDigits.union("!#$%&'*+-/=?^_`{|}~")
    private static let printable = ByteSet(0x20...0x7E)
    /// The printable characters without the quote and the backslash.
    private static let plainQuotedText = printable.inverted.union("\"\\").inverted

    static func accepts(_ bytes: ArraySlice<UInt8>) -> Bool {
        var cursor = ByteCursor(bytes)
        guard consumeLocalPart(&cursor), cursor.consume("@") else { return false }
        guard cursor.consume("[") else { return HostNameSyntax.accepts(cursor.rest) }
        let literal = cursor.consume(while: ByteSet("]").inverted)
        return cursor.consume("]") && cursor.isAtEnd && isAddressLiteral(literal)
    }

    private static func consumeLocalPart(_ cursor: inout ByteCursor) -> Bool {
        if cursor.consume("\"") { return consumeQuotedText(&cursor) }
        repeat {
            guard !cursor.consume(while: atomText).isEmpty else { return false }
        } while cursor.consume(".")
        return true
    }

    /// Reads a quoted text and the closing quote. Begins after the opening quote.
    private static func consumeQuotedText(_ cursor: inout ByteCursor) -> Bool {
        while true {
            _ = cursor.consume(while: plainQuotedText)
            if cursor.consume("\"") { return true }
            guard cursor.consume("\\"), cursor.consume(oneOf: printable) else { return false }
        }
    }

    /// True for an IPv4 address, and for an IPv6 address with the tag `IPv6`. No other tag is registered.
    private static func isAddressLiteral(_ bytes: ArraySlice<UInt8>) -> Bool {
        if IPv4Syntax.accepts(bytes, allowingLeadingZeros: true) { return true }
        var cursor = ByteCursor(bytes)
        let tag = cursor.consume(while: .lettersAndDigits)
        return tag.map(ASCII.lowercased).elementsEqual("ipv6".utf8) && cursor.consume(":")
            && IPv6Syntax.accepts(cursor.rest, dialect: .mail)
    }
}

/// Validates IPv4 addresses in dotted decimal.
enum IPv4Syntax {
    /// True for four decimal numbers up to 255 (`IPv4address` in RFC 3986). Only RFC 5321 allows leading zeros; many
    /// programs read a number with a leading zero as octal.
    static func accepts(_ bytes: ArraySlice<UInt8>, allowingLeadingZeros: Bool = false) -> Bool {
        var cursor = ByteCursor(bytes)
        for position in 0..<4 {
            if position > 0, !cursor.consume(".") { return false }
            let digits = cursor.consume(while: .digits)
            guard isOctet(digits, allowingLeadingZeros: allowingLeadingZeros) else { return false }
        }
        return cursor.isAtEnd
    }

    private static func isOctet(_ digits: ArraySlice<UInt8>, allowingLeadingZeros: Bool) -> Bool {
        guard let first = digits.first, digits.count <= 3 else { return false }
        guard allowingLeadingZeros || first != UInt8(ascii: "0") || digits.count == 1 else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1) - 0x30 } <= 255
    }
}

/// Validates IPv6 addresses without brackets and without a zone.
enum IPv6Syntax {
    /// A standard that defines IPv6 addresses. The standards differ in details.
    enum Dialect {
        /// RFC 4291 section 2.2 and RFC 3986: `::` represents at least one group.
        case plain
        /// RFC 5321 section 4.1.3: `::` represents at least two groups, and the numbers of an embedded IPv4 address may
        /// have leading zeros.
        case mail
    }

    static func accepts(_ bytes: ArraySlice<UInt8>, dialect: Dialect = .plain) -> Bool {
        var cursor = ByteCursor(bytes)
        var groups = 0
        // True after `::`, which represents the missing groups.
        var isElided = false
        if cursor.consume(":") {
            guard cursor.consume(":") else { return false }
            isElided = true
        }
        while !(isElided && cursor.isAtEnd) {
            let start = cursor
            let digits = cursor.consume(while: .hexDigits)
            if cursor.consume(".") {
                guard IPv4Syntax.accepts(start.rest, allowingLeadingZeros: dialect == .mail) else { return false }
                groups += 2
                break
            }
            guard 1...4 ~= digits.count, groups < 8 else { return false }
            groups += 1
            if cursor.isAtEnd { break }
            guard cursor.consume(":") else { return false }
            if cursor.consume(":") {
                guard !isElided else { return false }
                isElided = true
            } else if cursor.isAtEnd {
                return false
            }
        }
        return isElided ? groups <= (dialect == .mail ? 6 : 7) : groups == 8
    }
}

/// Validates URIs and relative references, RFC 3986 appendix A. `http://999.999.999.999/` is a URI, because a host that
/// is not an IPv4 address is a `reg-name`.
enum URISyntax {
    private static let scheme = ByteSet.lettersAndDigits.union("+-.")
    private static let registeredName = ByteSet.lettersAndDigits.union("-._~!$&'()*+,;=")
    private static let userInfo = registeredName.union(":")
    private static let segmentWithoutColon = registeredName.union("@")
    private static let path = registeredName.union(":@/")
    private static let queryOrFragment = path.union("?")

    static func accepts(_ bytes: ArraySlice<UInt8>, orRelative: Bool) -> Bool {
        var cursor = ByteCursor(bytes)
        let hasScheme = consumeScheme(&cursor)
        guard hasScheme || orRelative else { return false }
        if let authority = consumeAuthority(&cursor) {
            guard isAuthority(authority) else { return false }
        } else if !hasScheme {
            // The first segment must not contain a colon, because the text before the colon would be a scheme. For
            // example, `1:b` is not valid, because `1` is not a valid scheme.
            guard cursor.skip(segmentWithoutColon), cursor.next != UInt8(ascii: ":") else { return false }
        }
        guard cursor.skip(path) else { return false }
        if cursor.consume("?") {
            guard cursor.skip(queryOrFragment) else { return false }
        }
        if cursor.consume("#") {
            guard cursor.skip(queryOrFragment) else { return false }
        }
        return cursor.isAtEnd
    }

    /// Advances past a scheme and its colon, or does not advance.
    private static func consumeScheme(_ cursor: inout ByteCursor) -> Bool {
        var ahead = cursor
        let name = ahead.consume(while: scheme)
        guard let first = name.first, ASCII.isLetter(first), ahead.consume(":") else { return false }
        cursor = ahead
        return true
    }

    /// Advances past `//` and the authority up to the path, or does not advance.
    private static func consumeAuthority(_ cursor: inout ByteCursor) -> ArraySlice<UInt8>? {
        var ahead = cursor
        guard ahead.consume("/"), ahead.consume("/") else { return nil }
        let authority = ahead.consume(while: ByteSet("/?#").inverted)
        cursor = ahead
        return authority
    }

    private static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
        var cursor = ByteCursor(bytes)
        var afterUserInfo = cursor
        if afterUserInfo.skip(userInfo), afterUserInfo.consume("@") {
            cursor = afterUserInfo
        }
        if cursor.consume("[") {
            let literal = cursor.consume(while: ByteSet("]").inverted)
            guard cursor.consume("]"), IPv6Syntax.accepts(literal) || isFutureAddress(literal) else { return false }
        } else {
            guard cursor.skip(registeredName) else { return false }
        }
        if cursor.consume(":") {
            _ = cursor.consume(while: .digits)
        }
        return cursor.isAtEnd
    }

    /// True for `IPvFuture`, which RFC 3986 reserves for future kinds of addresses.
    private static func isFutureAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
        var cursor = ByteCursor(bytes)
        guard cursor.consume(ignoringCase: "v"), !cursor.consume(while: .hexDigits).isEmpty, cursor.consume(".") else {
            return false
        }
        return !cursor.consume(while: userInfo).isEmpty && cursor.isAtEnd
    }
}

extension ByteCursor {
    /// Advances past bytes of the set and past percent-encoded bytes. Returns false at a `%` without two hexadecimal
    /// digits.
    fileprivate mutating func skip(_ set: ByteSet) -> Bool {
        while true {
            _ = consume(while: set)
            guard consume("%") else { return true }
            guard consume(oneOf: .hexDigits), consume(oneOf: .hexDigits) else { return false }
        }
    }
}
