import Testing

@testable import SettingsModel

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
        .bad("a dot behind", "192.0.2.1."),
        .bad("hexadecimal", "0xC0.0.2.1"),
        .bad("a sign", "+192.0.2.1"),
        .bad("a prefix length", "192.0.2.0/24"),
        .bad("Bengali digits", "১৯২.0.2.1"),
        .bad("nothing", ""),
        .bad("a newline behind", "192.0.2.1\n"),
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
        .bad("nothing", ""),
        .bad("a space behind", "::1 "),
    ]

    @Test(arguments: ipv4) func `An IPv4 address is four octets in decimal`(_ testCase: FormatCase) {
        testCase.check(by: .ipv4)
    }

    @Test(arguments: ipv6) func `An IPv6 address is RFC 4291`(_ testCase: FormatCase) {
        testCase.check(by: .ipv6)
    }
}
