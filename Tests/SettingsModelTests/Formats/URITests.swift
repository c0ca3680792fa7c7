import Testing

@testable import SettingsModel

struct URITests {
    static let absolute: [FormatCase] = [
        .good("every part", "https://user:secret@example.com:8080/a/b;c=1?q=1&r=/?#top/?"),
        .good("a scheme alone", "a:"),
        .good("a scheme with symbols", "coap+tcp-1.0:x"),
        .good("no authority", "urn:example:a:b"),
        .good("an absolute path without authority", "file:/etc/hosts"),
        .good("an empty authority", "file:///etc/hosts"),
        .good("an empty port", "http://example.com:/"),
        .good("a port beyond 65535", "http://example.com:99999999/"),
        .good("an empty user", "http://@example.com"),
        .good("an IPv4 address", "http://192.0.2.1"),
        .good("an IPv6 address and a port", "http://[2001:db8::1]:80"),
        .good("an IPvFuture address", "http://[v7f.a:b!]"),
        .good("an encoded host", "http://ex%41mple"),
        .good("empty segments", "http://example.com//a//"),
        .good("an at sign and a colon in the path", "http://example.com/@:x"),
        .good("an empty query and fragment", "a:?#"),
        .bad("two fragments", "a:#b#c"),
        .bad("a space", "http://example.com/a b"),
        .bad("a scheme that begins with a digit", "1a:b"),
        .bad("a scheme that begins with a sign", "+a:b"),
        .bad("an underscore in the scheme", "a_b:c"),
        .bad("no scheme", "://example.com"),
        .bad("two at signs in the authority", "http://a@b@c/"),
        .bad("letters as a port", "http://example.com:http/"),
        .bad("a second colon in the authority", "http://example.com:80:80/"),
        .bad("an IPv6 address without brackets", "http://2001:db8::1/"),
        .bad("brackets left open", "http://[::1/"),
        .bad("brackets around a name", "http://[example.com]/"),
        .bad("text after the brackets", "http://[::1]x/"),
        .bad("a zone", "http://[fe80::1%25eth0]/"),
        .bad("an IPvFuture address without version", "http://[v.a]/"),
        .bad("an IPvFuture address without address", "http://[v1.]/"),
        .bad("a bracket in the path", "http://example.com/[1]"),
        .bad("a bracket in the query", "http://example.com/?a[]=1"),
        .bad("a bare percent sign", "http://example.com/100%"),
        .bad("a percent sign and one digit", "http://example.com/%4"),
        .bad("a percent sign and no digits", "http://example.com/%zz"),
        .bad("a percent sign in the port", "http://example.com:%38"),
        .bad("a letter beyond ASCII", "http://münchen.de/"),
        .bad("a backslash", "http://example.com\\a"),
        .bad("a pipe", "a:b|c"),
        .bad("quotes", "a:\"b\""),
        .bad("a control character", "a:\u{7F}"),
        .bad("a newline at the end", "http://example.com/\n"),
    ]

    /// Relative references: references without a scheme.
    static let relative: [FormatCase] = [
        .good("an empty text", ""),
        .good("a name", "a"),
        .good("an absolute path", "/a/b"),
        .good("a path of dots", "../../a"),
        .good("an authority", "//example.com/a"),
        .good("an empty authority", "//"),
        .good("an empty authority and a path", "///a"),
        .good("a query alone", "?a=b:c"),
        .good("a fragment alone", "#a:b"),
        .good("a colon in the second segment", "a/b:c"),
        .good("a colon after a dot segment", "./a:b"),
        .good("a colon in an absolute path", "/a:b"),
        .good("an encoded colon in the first segment", "1%3Ab"),
        .bad("a colon in a first segment that is no scheme", "1:b"),
        .bad("a colon after an encoded character", "%41:b"),
        .bad("a colon in front", ":a"),
        .bad("a port of letters", "//example.com:a"),
        .bad("a caret", "a^b"),
        .bad("braces", "/{id}"),
        .bad("a letter beyond ASCII", "/ä"),
        .bad("a bare percent sign", "/%"),
    ]

    @Test("A URI follows RFC 3986", arguments: absolute)
    func uri(_ testCase: FormatCase) {
        testCase.check(by: .uri)
    }

    @Test("A URI reference is a URI or a relative reference", arguments: absolute + relative)
    func reference(_ testCase: FormatCase) {
        testCase.check(by: .uriReference)
    }

    @Test("A relative reference is not a URI", arguments: relative)
    func neverRelative(_ testCase: FormatCase) {
        #expect(!StringFormat.uri.accepts(testCase.text))
    }
}
