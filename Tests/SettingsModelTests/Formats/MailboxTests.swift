import Testing

@testable import SettingsModel

struct MailboxTests {
    /// The format checks the grammar of RFC 5321, but not its limit of 64 bytes for the local part. A domain without
    /// brackets must be a valid host name, so it must not have the form of an IPv4 address. An elision (`::`)
    /// represents at least two groups in RFC 5321, unlike in RFC 4291.
    static let cases: [FormatCase] = [
        .good("a plain address", "name@example.com"),
        .good("dots and a plus sign", "first.last+tag@example.com"),
        .good("every symbol that RFC 5321 allows in an atom", "!#$%&'*+-/=?^_`{|}~@example.com"),
        .good("a domain of one label", "root@localhost"),
        .good("a domain in Punycode", "name@xn--mnchen-3ya.de"),
        .good("a local part of more than 64 bytes", String(repeating: "a", count: 200) + "@example.com"),
        .good("a quoted local part", "\"John Doe\"@example.com"),
        .good("an empty quoted local part", "\"\"@example.com"),
        .good("a quoted quote and backslash", "\"a\\\"b\\\\c\"@example.com"),
        .good("an at sign in quotes", "\"a@b\"@example.com"),
        .good("an IPv4 address", "name@[192.0.2.1]"),
        .good("an IPv4 address with leading zeros", "name@[192.000.002.001]"),
        .good("an IPv6 address", "name@[IPv6:2001:db8::1]"),
        .good("the prefix IPv6 in lower case", "name@[ipv6:::]"),
        .good("an IPv6 address that ends as IPv4", "name@[IPv6:::ffff:192.0.2.1]"),
        .bad("an elision of a single group", "name@[IPv6:1:2:3:4:5:6:7::]"),
        .bad("an IPv6 address without the prefix IPv6", "name@[2001:db8::1]"),
        .bad("an unknown prefix in brackets", "name@[X400:abc]"),
        .bad("an octet too large", "name@[192.0.2.256]"),
        .bad("an octet of four digits", "name@[192.0.2.0001]"),
        .bad("brackets left open", "name@[192.0.2.1"),
        .bad("text after the brackets", "name@[192.0.2.1]x"),
        .bad("empty brackets", "name@[]"),
        .bad("an empty text", ""),
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
        .bad("text after a quoted string", "\"name\"x@example.com"),
        .bad("a quoted string after other text", "x\"name\"@example.com"),
        .bad("a line break in quotes", "\"a\nb\"@example.com"),
        .bad("a backslash before the end", "\"a\\"),
        .bad("letters beyond ASCII in the local part", "jürgen@example.com"),
        .bad("letters beyond ASCII in quotes", "\"jürgen\"@example.com"),
        .bad("letters beyond ASCII in the domain", "name@münchen.de"),
        .bad("an underscore in the domain", "name@exa_mple.com"),
        .bad("a dot after the domain", "name@example.com."),
        .bad("a bare IPv4 address", "name@192.0.2.1"),
        .bad("a display name", "Name <name@example.com>"),
        .bad("a comment", "name(comment)@example.com"),
        .bad("a space at the end", "name@example.com "),
    ]

    @Test("An e-mail address follows RFC 5321", arguments: cases)
    func mailbox(_ testCase: FormatCase) {
        testCase.check(by: .email)
    }
}

struct IPAddressTests {
    static let ipv4: [FormatCase] = [
        .good("an ordinary address", "192.0.2.1"),
        .good("all zeros", "0.0.0.0"),
        .good("all ones", "255.255.255.255"),
        .bad("an octet of 256", "192.0.2.256"),
        .bad("a leading zero", "192.0.2.01"),
        .bad("two zeros", "192.0.2.00"),
        .bad("four digits", "1920.0.2.1"),
        .bad("three octets", "192.0.2"),
        .bad("five octets", "192.0.2.1.1"),
        .bad("an empty octet", "192..2.1"),
        .bad("a dot in front", ".192.0.2.1"),
        .bad("a dot at the end", "192.0.2.1."),
        .bad("hexadecimal", "0xC0.0.2.1"),
        .bad("a sign", "+192.0.2.1"),
        .bad("a prefix length", "192.0.2.0/24"),
        .bad("Bengali digits", "১৯২.0.2.1"),
        .bad("an empty text", ""),
        .bad("a newline at the end", "192.0.2.1\n"),
    ]

    static let ipv6: [FormatCase] = [
        .good("eight groups", "2001:db8:0:0:0:0:0:1"),
        .good("upper case", "2001:DB8::ABCD"),
        .good("zeros elided in the middle", "2001:db8::1"),
        .good("zeros elided in front", "::1"),
        .good("zeros elided at the end", "2001:db8::"),
        .good("nothing but zeros", "::"),
        .good("leading zeros in a group", "0001::"),
        .good("a single group elided at the end", "1:2:3:4:5:6:7::"),
        .good("a single group elided in front", "::2:3:4:5:6:7:8"),
        .good("a single group elided in the middle", "1:2:3::5:6:7:8"),
        .good("an IPv4 tail", "64:ff9b::192.0.2.1"),
        .good("six groups and an IPv4 tail", "1:2:3:4:5:6:192.0.2.1"),
        .good("only an elision and an IPv4 tail", "::192.0.2.1"),
        .good("five groups, one elided and an IPv4 tail", "1:2:3:4:5::192.0.2.1"),
        .bad("eight groups and an elision", "1:2:3:4::5:6:7:8"),
        .bad("six groups, an elision and an IPv4 tail", "1:2:3:4:5:6::192.0.2.1"),
        .bad("seven groups", "1:2:3:4:5:6:7"),
        .bad("nine groups", "1:2:3:4:5:6:7:8:9"),
        .bad("seven groups and an IPv4 tail", "1:2:3:4:5:6:7:192.0.2.1"),
        .bad("two elisions", "1::2::3"),
        .bad("three colons", "1:::2"),
        .bad("a colon in front", ":1:2:3:4:5:6:7"),
        .bad("a colon at the end", "1:2:3:4:5:6:7:"),
        .bad("a colon at the end after an elision", "1::2:"),
        .bad("five digits in a group", "12345::"),
        .bad("a letter beyond f", "g::"),
        .bad("an IPv4 part in front", "192.0.2.1::"),
        .bad("an IPv4 tail with a leading zero", "::192.0.2.01"),
        .bad("an IPv4 address alone", "192.0.2.1"),
        .bad("a zone", "fe80::1%eth0"),
        .bad("a prefix length", "2001:db8::/32"),
        .bad("brackets", "[::1]"),
        .bad("a colon alone", ":"),
        .bad("full-width digits", "::１"),
        .bad("an empty text", ""),
        .bad("a space at the end", "::1 "),
    ]

    @Test("An IPv4 address has four decimal octets", arguments: ipv4)
    func ipv4Address(_ testCase: FormatCase) {
        testCase.check(by: .ipv4)
    }

    @Test("An IPv6 address follows RFC 4291", arguments: ipv6)
    func ipv6Address(_ testCase: FormatCase) {
        testCase.check(by: .ipv6)
    }
}
