import Testing

@testable import SettingsModel

struct MailboxTests {
    static let cases: [FormatCase] = [
        .good("a plain address", "name@example.com"),
        .good("dots and a tag", "first.last+tag@example.com"),
        .good("every symbol an atom may have", "!#$%&'*+-/=?^_`{|}~@example.com"),
        .good("a domain of one label", "root@localhost"),
        .good("a domain in Punycode", "name@xn--mnchen-3ya.de"),
        .good("a local part beyond 64 bytes", String(repeating: "a", count: 200) + "@example.com"),
        .good("a quoted local part", "\"John Doe\"@example.com"),
        .good("an empty quoted local part", "\"\"@example.com"),
        .good("a quoted quote and backslash", "\"a\\\"b\\\\c\"@example.com"),
        .good("an at sign in quotes", "\"a@b\"@example.com"),
        .good("an IPv4 address", "name@[192.0.2.1]"),
        .good("an IPv4 address with leading zeros", "name@[192.000.002.001]"),
        .good("an IPv6 address", "name@[IPv6:2001:db8::1]"),
        .good("the tag in lower case", "name@[ipv6:::]"),
        .good("an IPv6 address that ends as IPv4", "name@[IPv6:::ffff:192.0.2.1]"),
        .bad("an elision of a single group", "name@[IPv6:1:2:3:4:5:6:7::]"),
        .bad("an IPv6 address without tag", "name@[2001:db8::1]"),
        .bad("a tag nobody registered", "name@[X400:abc]"),
        .bad("an octet too large", "name@[192.0.2.256]"),
        .bad("an octet of four digits", "name@[192.0.2.0001]"),
        .bad("brackets left open", "name@[192.0.2.1"),
        .bad("something behind the brackets", "name@[192.0.2.1]x"),
        .bad("empty brackets", "name@[]"),
        .bad("nothing", ""),
        .bad("an at sign alone", "@"),
        .bad("no at sign", "name.example.com"),
        .bad("no local part", "@example.com"),
        .bad("no domain", "name@"),
        .bad("two at signs", "a@b@example.com"),
        .bad("a dot in front", ".name@example.com"),
        .bad("a dot at the end", "name.@example.com"),
        .bad("two dots in a row", "a..b@example.com"),
        .bad("a space", "a b@example.com"),
        .bad("quotes left open", "\"name@example.com"),
        .bad("quotes and more", "\"name\"x@example.com"),
        .bad("quotes that begin late", "x\"name\"@example.com"),
        .bad("a line break in quotes", "\"a\nb\"@example.com"),
        .bad("a backslash before the end", "\"a\\"),
        .bad("letters beyond ASCII in the local part", "jürgen@example.com"),
        .bad("letters beyond ASCII in quotes", "\"jürgen\"@example.com"),
        .bad("letters beyond ASCII in the domain", "name@münchen.de"),
        .bad("an underscore in the domain", "name@exa_mple.com"),
        .bad("a dot behind the domain", "name@example.com."),
        .bad("a bare IPv4 address", "name@192.0.2.1"),
        .bad("a display name", "Name <name@example.com>"),
        .bad("a comment", "name(comment)@example.com"),
        .bad("a space behind", "name@example.com "),
    ]

    @Test(arguments: cases) func `An e-mail address is a mailbox of RFC 5321`(_ testCase: FormatCase) {
        testCase.check(by: .email)
    }
}
