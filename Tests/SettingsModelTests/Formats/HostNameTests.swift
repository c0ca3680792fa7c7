import Testing

@testable import SettingsModel

struct HostNameTests {
    private static let label63 = String(repeating: "a", count: 63)

    static let names: [FormatCase] = [
        .good("several labels", "www.example.com"),
        .good("a single label", "localhost"),
        .good("upper case", "WWW.Example.COM"),
        .good("digits in front", "3com.example"),
        .good("a label of digits", "1.example"),
        .good("a number alone", "42"),
        .good("hyphens inside", "a-b---c.example"),
        .good("hyphens at positions 3 and 4 without xn", "r3--x.example"),
        .good("a label of 63 bytes", "\(label63).example"),
        .good("253 bytes", "\(label63).\(label63).\(label63).\(label63.dropLast(2))"),
        .bad("254 bytes", "\(label63).\(label63).\(label63).\(label63.dropLast())"),
        .bad("a label of 64 bytes", "\(label63)a.example"),
        .bad("an empty text", ""),
        .bad("a dot alone", "."),
        .bad("a dot in front", ".example"),
        .bad("a dot at the end", "example.com."),
        .bad("two dots in a row", "www..example"),
        .bad("a hyphen in front", "-a.example"),
        .bad("a hyphen at the end", "a-.example"),
        .bad("an underscore", "_dmarc.example"),
        .bad("a space", "a b.example"),
        .bad("a port", "example.com:80"),
        .bad("an IPv4 address", "192.0.2.1"),
        .bad("four numbers that resemble an IPv4 address", "999.999.999.999"),
        .bad("an IPv6 address", "2001:db8::1"),
        .bad("letters beyond ASCII", "münchen.de"),
        .bad("an ideographic full stop", "www。example"),
        .bad("a newline at the end", "example.com\n"),
    ]

    /// Labels in Punycode, an ASCII form of Unicode text that begins with `xn--`.
    static let labels: [FormatCase] = [
        .good("a German umlaut", "xn--mnchen-3ya"),
        .good("a German umlaut, in upper case", "XN--MNCHEN-3YA"),
        .good("sharp s, which IDNA allows as an exception", "xn--fa-hia"),
        .good("Greek", "xn--hxajbheg2az3al"),
        .good("Hangul syllables", "xn--o39a40g"),
        .good("Chinese characters", "xn--p8s937b"),
        .good("a character beyond the Basic Multilingual Plane", "xn--j50i"),
        .bad("nothing after the prefix", "xn--"),
        .bad("ASCII only", "xn--abc-"),
        .bad("an incomplete Punycode number", "xn--a-9"),
        .bad("a Punycode number that is too large", "xn--99999999999"),
        .bad("a delimiter with nothing before it", "xn---abc"),
        .bad("an upper-case umlaut", "xn--b-5da"),
        .bad("a symbol", "xn--n3h"),
        .bad("a full-width letter", "xn--mi7c"),
        .bad("an unassigned character", "xn--zva"),
        .bad("a private-use character", "xn--0y0c"),
        .bad("a musical sign", "xn--a-1k8q"),
        .bad("a combining mark for symbols", "xn--a-zrn"),
        .bad("a combining enclosing circle", "xn--a-qsn"),
        .bad("a tatweel, which IDNA forbids as an exception", "xn--ngb2c"),
        .bad("conjoining Hangul letters", "xn--ypd8q"),
        .bad("a mark in front", "xn--a-wbb"),
        .bad("hyphens at positions 3 and 4 of the decoded label", "xn--b--c-koa"),
        .bad("a hyphen in front", "xn----0fa"),
        .bad("a hyphen at the end", "xn----zfa"),
    ]

    /// Letters with combining marks. A label must be in Unicode normalization form C.
    static let composition: [FormatCase] = [
        .good("marks in order that compose with nothing", "xn--x-xbb5h"),
        .good("a voicing mark after a letter without a voiced form", "xn--q9j0e"),
        .bad("marks out of order", "xn--x-xbb6h"),
        .bad("an e and an acute accent", "xn--cafe-yvc"),
        .bad("a composed letter and one more mark that composes", "xn--msa552l"),
        .bad("a kana and a voicing mark", "xn--u8jui"),
    ]

    /// Characters that are allowed only next to or together with certain other characters.
    static let context: [FormatCase] = [
        .good("a middle dot between two l", "xn--collega-xma"),
        .bad("a middle dot elsewhere", "xn--ab-0ea"),
        .good("a numeral sign before Greek", "xn--wva4j"),
        .bad("a numeral sign before Latin", "xn--a-jib"),
        .good("gershayim after Hebrew", "xn--4db6e"),
        .bad("gershayim in front", "xn--4db5e"),
        .good("a katakana dot with katakana", "xn--cckzj"),
        .bad("a katakana dot with only a sound mark", "xn--vekb"),
        .good("a non-joiner after a virama", "xn--11b2ezcs70k"),
        .good("a non-joiner between letters that join", "xn--ngba799q"),
        .good("a non-joiner between letters that join, with marks", "xn--ngba8ha8704a"),
        .bad("a non-joiner after a letter that does not join", "xn--mgbc799q"),
        .good("a joiner after a virama", "xn--11b2ezcw70k"),
        .bad("a joiner after a letter", "xn--11b2er09f"),
        .good("Arabic digits of one kind", "xn--ngb8id"),
        .bad("Arabic digits of both kinds", "xn--ngb8i1r"),
    ]

    /// Labels in right-to-left scripts.
    static let directions: [FormatCase] = [
        .good("Hebrew", "xn--9dbne9b"),
        .good("Hebrew and a plain label", "www.xn--9dbne9b"),
        .good("Hebrew ending in a digit", "xn--1-oic2b"),
        .good("Hebrew ending in a mark", "xn--gdb1h"),
        .bad("Hebrew beginning with a digit", "xn--1-pic2b"),
        .bad("Hebrew mixed with Latin", "xn--a-oic2b"),
        .bad("Arabic with Arabic and European digits", "xn--1-0mc5o"),
        .bad("Hebrew beside a plain label beginning with a digit", "1host.xn--9dbne9b"),
        .good("a digit in front, without a right-to-left label", "1host.xn--mnchen-3ya"),
    ]

    @Test("A host name follows RFC 1123", arguments: names)
    func hostName(_ testCase: FormatCase) {
        testCase.check(by: .hostname)
    }

    @Test("A label in Punycode follows IDNA 2008", arguments: labels + composition + context + directions)
    func punycodeLabel(_ testCase: FormatCase) {
        testCase.check(by: .hostname)
    }

    @Test("Each label of xn-- and six of the characters a, 9, z and - is accepted or refused without a crash")
    func shortLabels() {
        let letters = Array("a9z-".utf8)
        var labels: [[UInt8]] = [[]]
        for _ in 0..<6 {
            labels = labels.flatMap { label in letters.map { label + [$0] } }
        }
        for label in labels {
            _ = StringFormat.hostname.accepts("xn--" + String(decoding: label, as: UTF8.self))
        }
    }
}
