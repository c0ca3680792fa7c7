/// A checker for URIs and relative references, RFC 3986 appendix A. `http://999.999.999.999/` is a URI: what is no IPv4
/// address is still a `reg-name`.
enum URISyntax {
    static func accepts(_ bytes: Substring.UTF8View, orRelative: Bool) -> Bool {
        var cursor = ByteCursor(bytes)
        let hasScheme = takeScheme(&cursor)
        guard hasScheme || orRelative else { return false }
        if let authority = takeAuthority(&cursor) {
            guard isAuthority(authority) else { return false }
        } else if !hasScheme {
            // Otherwise `1:b`, whose `1` is no scheme, would pass for a path.
            guard cursor.skip(segmentWithoutColon), cursor.next != UInt8(ascii: ":") else { return false }
        }
        guard cursor.skip(path) else { return false }
        if cursor.take("?") {
            guard cursor.skip(queryOrFragment) else { return false }
        }
        if cursor.take("#") {
            guard cursor.skip(queryOrFragment) else { return false }
        }
        return cursor.isAtEnd
    }

    /// Moves past a scheme and its colon, or not at all.
    private static func takeScheme(_ cursor: inout ByteCursor) -> Bool {
        var ahead = cursor
        let name = ahead.take(while: { ASCII.isLetterOrDigit($0) || "+-.".utf8.contains($0) })
        guard let first = name.first, ASCII.isLetter(first), ahead.take(":") else { return false }
        cursor = ahead
        return true
    }

    /// Moves past `//` and what follows it up to the path, or not at all.
    private static func takeAuthority(_ cursor: inout ByteCursor) -> Substring.UTF8View? {
        var ahead = cursor
        guard ahead.take("/"), ahead.take("/") else { return nil }
        let authority = ahead.take(while: { !"/?#".utf8.contains($0) })
        cursor = ahead
        return authority
    }

    private static func isAuthority(_ bytes: Substring.UTF8View) -> Bool {
        var cursor = ByteCursor(bytes)
        var afterUserInfo = cursor
        if afterUserInfo.skip(userInfo), afterUserInfo.take("@") {
            cursor = afterUserInfo
        }
        if cursor.take("[") {
            let literal = cursor.take(while: { $0 != UInt8(ascii: "]") })
            guard cursor.take("]"), IPv6Syntax.accepts(literal) || isFutureAddress(literal) else { return false }
        } else {
            guard cursor.skip(registeredName) else { return false }
        }
        if cursor.take(":") {
            _ = cursor.take(while: ASCII.isDigit)
        }
        return cursor.isAtEnd
    }

    /// True for `IPvFuture`, which RFC 3986 reserves for later address families.
    private static func isFutureAddress(_ bytes: Substring.UTF8View) -> Bool {
        var cursor = ByteCursor(bytes)
        guard cursor.take(ignoringCase: "v"), !cursor.take(while: ASCII.isHexDigit).isEmpty, cursor.take(".") else {
            return false
        }
        return !cursor.take(while: userInfo).isEmpty && cursor.isAtEnd
    }

    private static func registeredName(_ byte: UInt8) -> Bool {
        ASCII.isLetterOrDigit(byte) || "-._~!$&'()*+,;=".utf8.contains(byte)
    }

    private static func userInfo(_ byte: UInt8) -> Bool {
        registeredName(byte) || byte == UInt8(ascii: ":")
    }

    private static func segmentWithoutColon(_ byte: UInt8) -> Bool {
        registeredName(byte) || byte == UInt8(ascii: "@")
    }

    private static func path(_ byte: UInt8) -> Bool {
        registeredName(byte) || ":@/".utf8.contains(byte)
    }

    private static func queryOrFragment(_ byte: UInt8) -> Bool {
        path(byte) || byte == UInt8(ascii: "?")
    }
}

extension ByteCursor {
    /// Moves past bytes that satisfy `belongs` and past percent-encoded ones. Returns false at a `%` that encodes nothing.
    fileprivate mutating func skip(_ belongs: (UInt8) -> Bool) -> Bool {
        while true {
            _ = take(while: belongs)
            guard take("%") else { return true }
            for _ in 0..<2 {
                guard take(if: ASCII.isHexDigit) else { return false }
            }
        }
    }
}
