import Testing

@testable import SettingsModel

struct PatternSyntaxTests {
    /// A pattern, and the offset at which it is refused, in Unicode scalars; nil for a pattern that is accepted.
    struct Case: Sendable, CustomTestStringConvertible {
        let source: String
        let offset: Int?

        init(_ source: String, at offset: Int? = nil) {
            self.source = source
            self.offset = offset
        }

        var testDescription: String { source.count > 60 ? "\(source.prefix(60))…" : source }
    }

    static let quantifiers: [Case] = [
        Case("*", at: 0), Case("a|+", at: 2), Case("(?)", at: 0), Case("(*)", at: 1), Case("a**", at: 2),
        Case("a+?+", at: 3), Case("a++", at: 2), Case("{2}", at: 0), Case("a{2}{3}", at: 4), Case("^*", at: 1),
        Case("$+", at: 1), Case(#"\b?"#, at: 2), Case(#"\B{2}"#, at: 2), Case("(?=a)*", at: 5), Case("(?!a){2}", at: 5),
        Case("(?<=a)?", at: 6), Case("(?<!a)+", at: 6), Case("a{2,1}", at: 1), Case("é{10,9}", at: 1),
        Case("a{99999999999999999999,1}", at: 1), Case("a{", at: 1), Case("a{}", at: 1), Case("a{,5}", at: 1),
        Case("a{1", at: 1), Case("a{1,", at: 1), Case("a{1,2", at: 1), Case("a{x}", at: 1), Case("a{1 }", at: 1),
        Case("a{-1}", at: 1), Case("😀{", at: 1), Case("e\u{301}**", at: 3),
    ]

    static let brackets: [Case] = [
        Case("{", at: 0), Case("}", at: 0), Case("a}", at: 1), Case("]", at: 0), Case("a]b", at: 1),
        Case("[[a]]", at: 4),
        Case("[", at: 0), Case("a[", at: 1), Case("a[^", at: 1), Case("[a-", at: 0), Case(#"[\]"#, at: 0),
        Case("[b-a]", at: 1), Case("[xb-a]", at: 2), Case(#"[a-\d]"#, at: 1), Case(#"[\w-z]"#, at: 1),
        Case(#"[\s-\d]"#, at: 1), Case(#"[\p{L}-z]"#, at: 1), Case(#"[\u{1F600}-z]"#, at: 1),
        Case("(", at: 0), Case("a(b", at: 1), Case("(a)(b(c)", at: 3), Case(")", at: 0), Case("a)", at: 1),
        Case("(a))", at: 3),
        Case("(?", at: 0), Case("(?a)", at: 0), Case("(?P<n>a)", at: 0), Case("(?>a)", at: 0), Case("(?#a)", at: 0),
        Case("a(?|b)", at: 1), Case("(?:a", at: 0), Case("(?=a", at: 0),
    ]

    static let groups: [Case] = [
        Case("(?<>a)", at: 3), Case("(?<n", at: 3), Case("(?<1n>a)", at: 3), Case("(?<n-m>a)", at: 4),
        Case("(?<n m>a)", at: 4),
        Case("(?<\u{301}>a)", at: 3), Case(#"(?<\n>a)"#, at: 3), Case(#"(?<a\u{20}>a)"#, at: 4),
        Case(#"(?<\uD83D>a)"#, at: 3),
        Case(#"(?<\uZZ>a)"#, at: 3), Case("(?<n>a)(?<n>b)", at: 10), Case("(?<n>a(?<n>b))", at: 9),
        Case("(?:(?<n>a)|b)(?<n>c)", at: 16), Case("(?<n>a)(?:b|(?<n>c))", at: 15), Case("(?<n>a|(?<n>b))", at: 10),
        Case("(?:(?<n>a)|(?<n>b))|(?<n>c)(?<n>d)", at: 30), Case(#"(?<n>)(?<\u006e>)"#, at: 9),
        Case("(?i)a", at: 0), Case("(?i-i:a)", at: 4), Case("(?ii:a)", at: 3), Case("(?-:a)", at: 0),
        Case("(?x:a)", at: 0),
        Case("(?i--s:a)", at: 4),
    ]

    static let escapes: [Case] = [
        Case("\\", at: 0), Case("a\\", at: 1), Case(#"\A"#, at: 0), Case(#"^a\Z"#, at: 2), Case(#"\z"#, at: 0),
        Case(#"\a"#, at: 0),
        Case(#"\e"#, at: 0), Case(#"\h"#, at: 0), Case(#"\-"#, at: 0), Case(#"\_"#, at: 0), Case(#"\@"#, at: 0),
        Case(#"\ "#, at: 0),
        Case(#"\é"#, at: 0), Case(#"\😀"#, at: 0), Case("\\\n", at: 0), Case(#"[\B]"#, at: 1), Case(#"[\k]"#, at: 1),
        Case(#"[\1]"#, at: 1),
        Case(#"\00"#, at: 0), Case(#"\01"#, at: 0), Case(#"[\08]"#, at: 1), Case(#"\c"#, at: 0), Case(#"\c1"#, at: 0),
        Case(#"\cé"#, at: 0),
        Case(#"\x"#, at: 0), Case(#"\x4"#, at: 0), Case(#"\xg0"#, at: 0), Case(#"\u"#, at: 0), Case(#"\u123"#, at: 0),
        Case(#"\u{"#, at: 0), Case(#"\u{}"#, at: 0), Case(#"\u{41"#, at: 0), Case(#"\u{110000}"#, at: 0),
        Case(#"\u{FFFFFFFFFFFFFFFFFFFF}"#, at: 0), Case(#"\u{4G}"#, at: 0), Case(#"\uD83D\u12"#, at: 6),
        Case(#"\k"#, at: 0), Case(#"\k<n"#, at: 3), Case(#"(?<n>a)\kn"#, at: 7), Case(#"\k<n>"#, at: 0),
        Case(#"(?<n>a)\k<m>"#, at: 7),
        Case(#"\1"#, at: 0), Case(#"(a)\2"#, at: 3), Case(#"(?:a)\1"#, at: 5),
        Case(#"(a)\99999999999999999999"#, at: 3),
        Case(#"\p"#, at: 0), Case(#"\pL"#, at: 0), Case(#"\p{"#, at: 0), Case(#"\p{L"#, at: 0), Case(#"\p{}"#, at: 0),
        Case(#"\p{ L}"#, at: 0), Case(#"\p{gc=Foo}"#, at: 0), Case(#"\p{Script=}"#, at: 0), Case(#"\p{Lu=}"#, at: 0),
        Case(#"\p{^L}"#, at: 0), Case(#"a[\p{gc=lu}]"#, at: 2),
    ]

    @Test(
        "A construct outside of ECMA-262 is refused as a syntax error at its position",
        arguments: quantifiers + brackets + groups + escapes)
    func syntaxErrors(sample: Case) throws {
        let error = try #require(throws: PatternError.self) { try Pattern(sample.source) }
        #expect(error.kind == .syntax, "\(error)")
        #expect(error.offset == sample.offset, "\(error)")
        #expect(throws: error) { try Pattern.checkSyntax(sample.source) }
    }

    @Test(
        "A valid but unsupported construct passes the syntax check, and is refused by the initializer of `Pattern`",
        arguments: [
            Case("a(?=b)", at: 1), Case("(?!b)", at: 0), Case("(?<=b)a", at: 0), Case("(?<!b)a", at: 0),
            Case(#"(a)\1"#, at: 3),
            Case(#"\1(a)"#, at: 0), Case(#"(\1)"#, at: 1), Case(#"(a)\1*"#, at: 3), Case(#"(?<n>a)\k<n>"#, at: 7),
            Case(#"\k<n>(?<n>a)"#, at: 0),
            Case(#"(a)(?<n>b)\2"#, at: 10), Case("(?i:a)", at: 0), Case("(?-s:a)", at: 0), Case("(?im-s:a)*", at: 0),
            Case(#"\P{Foo}"#, at: 0), Case(#"\p{letter}"#, at: 0), Case(#"\p{Foo=Bar}"#, at: 0),
            Case(#"a[\p{Foo}]"#, at: 2),
            Case(#"\p{Script=Greek}"#, at: 0),
            Case(#"[a\P{scx=Grek}]"#, at: 2), Case(#"\p{ExtPict}"#, at: 0), Case(#"\p{sc=Latn}(?=a)"#, at: 0),
        ])
    func unsupported(sample: Case) throws {
        try Pattern.checkSyntax(sample.source)
        let error = try #require(throws: PatternError.self) { try Pattern(sample.source) }
        #expect(error.kind == .unsupported, "\(error)")
        #expect(error.offset == sample.offset, "\(error)")
    }

    @Test
    func `A syntax error has precedence over an earlier unsupported construct`() throws {
        let error = try #require(throws: PatternError.self) { try Pattern("(?=a)b**") }
        #expect(error.kind == .syntax)
        #expect(error.offset == 7)
    }

    @Test(
        "Valid patterns that resemble errors pass the syntax check",
        arguments: [
            "", "|", "a||b", "()", "(|)", "[]", "[^]", "[[]", "[(]", "[a-]", "[-a]", "[--0]", #"[\-]"#, #"[\b]"#,
            #"[a-\x7f]"#, "[^^]",
            #"\/"#, "/", "-", ",", "<", ">", "=", "!", ":", "#", "a{1}?", "(?:a)*?", #"\u{0010FFFF}"#, #"\uDE00\uD83D"#,
            #"\uD83D\u{DE00}"#,
            "(?<$>a)(?<_>b)", "(?<a\u{200D}>x)", "(?:(?<n>a)|(?<n>b))|(?<n>c)", "(?<n>a)|(?:x(?<n>b)|y(?<n>c))",
            "a{0,99999999999999999999}b{0}",
        ])
    func valid(source: String) throws {
        try Pattern.checkSyntax(source)
    }

    @Test(arguments: [
        Case("a{4001}", at: 0), Case("((a{1000}){1000}){1000}", at: 0), Case("a{99999999999999999999}", at: 0),
        Case("a{99999999999999999999,}", at: 0),
        Case("(?:a{0,99999999999999999999}){0,99999999999999999999}", at: 0),
        Case("(?:|){99999999999999999999}", at: 0), Case("(?:^){5000}", at: 0), Case("(a{1999}|b{1999}){2}", at: 0),
        Case(String(repeating: "|", count: 60_000), at: 0), Case(String(repeating: "a", count: 4_001), at: 0),
    ])
    func `A pattern with too many states passes the syntax check and is refused by the initializer`(sample: Case)
        throws
    {
        try Pattern.checkSyntax(sample.source)
        let error = try #require(throws: PatternError.self) { try Pattern(sample.source) }
        #expect(error.kind == .tooLarge, "\(error)")
        #expect(error.offset == sample.offset)
    }

    // A pattern may have 65,536 bytes of UTF-8, and 200 nested groups.
    @Test(
        "The syntax check also refuses a pattern that is too long or nested too deep",
        arguments: [
            Case(String(repeating: "a", count: 65_537), at: 0), Case(String(repeating: "é", count: 32_769), at: 0),
            Case(String(repeating: "(", count: 201), at: 200), Case(String(repeating: "(?:", count: 20_000), at: 600),
            Case(String(repeating: "(?=a|", count: 10_000), at: 1_000),
        ])
    func tooLong(sample: Case) throws {
        let error = try #require(throws: PatternError.self) { try Pattern.checkSyntax(sample.source) }
        #expect(error.kind == .tooLarge, "\(error)")
        #expect(error.offset == sample.offset)
    }

    static let manyNamedGroups = (0..<4_000).map { "(?<n\($0)>)" }.joined()

    // The automaton of a pattern may have 4,000 states.
    @Test(
        "The largest allowed patterns are compiled, and a search for each pattern needs fewer than a million steps",
        arguments: [
            Case("a{4000}"),
            Case(String(repeating: "a", count: 4_000)),
            Case("(?:a?){2000}"),
            Case("(?:(?:a|b|cd){4}x?){133}"),
            Case(String(repeating: "(?:a|", count: 200) + "b" + String(repeating: ")*c", count: 200)),
            Case("[" + String(repeating: #"\S\W"#, count: 10_000) + "]"),
            Case(manyNamedGroups),
            Case(String(repeating: "(?:", count: 199) + manyNamedGroups + String(repeating: "|)", count: 199)),
        ])
    func largest(sample: Case) throws {
        let pattern = try Pattern(sample.source)
        var budget = 1_000_000
        #expect(pattern.matches("abcdx", budget: &budget) != nil)
    }

    @Test("An error says what is wrong and what to write instead")
    func advice() throws {
        let escape = try #require(throws: PatternError.self) { try Pattern(#"^\S+\Z"#) }
        #expect(escape.description == #"at offset 4: \Z is not an escape in ECMA-262; use $ for the end of the text"#)
        let group = try #require(throws: PatternError.self) { try Pattern("a(b") }
        #expect(group.reason == "the group that begins here has no closing )")
        let lookAround = try #require(throws: PatternError.self) { try Pattern("(?=a)") }
        #expect(lookAround.reason == "look-around cannot be matched in linear time and is not supported")
    }
}
