import Testing

@testable import SettingsModel

struct PatternMatchingTests {
    /// A pattern, texts that it matches, and texts that it does not match.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let source: String
        let matching: [String]
        let failing: [String]

        init(_ name: String, _ source: String, matches matching: [String], not failing: [String] = []) {
            self.name = name
            self.source = source
            self.matching = matching
            self.failing = failing
        }

        var testDescription: String { name }
    }

    static let basics: [Case] = [
        Case("a pattern need not match from the start", "b", matches: ["b", "abc"], not: ["", "a", "B"]),
        Case("the empty pattern matches everything", "", matches: ["", "a"]),
        Case("an empty alternative", "^(?:a|)$", matches: ["", "a"], not: ["b"]),
        Case("alternatives", "^(foo|ba[rz])$", matches: ["foo", "bar", "baz"], not: ["ba", "foobar"]),
        Case("alternation has the lowest precedence", "^a|b$", matches: ["ax", "xb"], not: ["xa", "bx"]),
        Case(
            "the dot matches one scalar, but no line terminator", "^.$", matches: ["a", "😀", "\t", "\u{85}"],
            not: ["", "\n", "\r", "\u{2028}", "\u{2029}", "e\u{301}"]),
        Case("^ is the start of the text only", "^b", matches: ["ba"], not: ["a\nb"]),
        Case("$ is the end of the text only", "a$", matches: ["ba"], not: ["a\n", "a\nb"]),
        Case("anchors in the middle", "a^b|a$b|c", matches: ["c"], not: ["ab", "a\nb"]),
        Case("^ after something optional", "a?^b", matches: ["b"], not: ["ab"]),
        Case("$ before something optional", "a$b?", matches: ["a"], not: ["ab"]),
        Case("repeated anchors", "(?:^a)+$", matches: ["a"], not: ["aa"]),
        Case("a word boundary", #"\bcat\b"#, matches: ["cat", "a cat!", "cat-cat"], not: ["cats", "concat", "_cat"]),
        Case("no word boundary", #"\Bcat\B"#, matches: ["scats", "0cat_"], not: ["cat", "cats", "scat"]),
        Case("\\B in an empty text", #"^\B$"#, matches: [""], not: ["a"]),
        Case("only ASCII characters are word characters", #"é\b"#, matches: ["éa"], not: ["é", "é "]),
        Case("slash and hyphen stand for themselves", #"^a/b-\/$"#, matches: ["a/b-/"]),
    ]

    static let quantifiers: [Case] = [
        Case("*", "^a*$", matches: ["", "a", "aaa"], not: ["b", "ab"]),
        Case("+", "^a+$", matches: ["a", "aaa"], not: [""]),
        Case("?", "^ab?$", matches: ["a", "ab"], not: ["abb"]),
        Case(
            "lazy quantifiers match the same texts as greedy quantifiers", "^a*?b+?c??d{1,2}?$",
            matches: ["aabcd", "bdd"], not: ["ad", "bccd"]),
        Case("an exact count", "^a{3}$", matches: ["aaa"], not: ["aa", "aaaa"]),
        Case("at least two", "^a{2,}$", matches: ["aa", "aaaaa"], not: ["a"]),
        Case("at least zero", "^a{0,}$", matches: ["", "aa"], not: ["b"]),
        Case("two to four", "^a{2,4}$", matches: ["aa", "aaa", "aaaa"], not: ["a", "aaaaa"]),
        Case("exactly zero", "^a{0}b{0,0}$", matches: [""], not: ["a", "b"]),
        Case("leading zeros", "^a{002}$", matches: ["aa"], not: ["a"]),
        Case("a repeated group", "^(ab){2}$", matches: ["abab"], not: ["ab", "aabb"]),
        Case("nested counts", "^((a{2}){2}){2}$", matches: ["aaaaaaaa"], not: ["aaaaaaa", "aaaaaaaaa"]),
        Case("an empty loop in a loop", "^(a*)*$", matches: ["", "aaa"], not: ["b"]),
        Case("a loop over an empty alternative", "^(|a)*b$", matches: ["b", "aab"], not: ["a"]),
        Case("a loop over an empty alternative, at least once", "^(|a)+$", matches: ["", "aa"], not: ["b"]),
        Case("a loop over an assertion", #"^(?:\b|a)*$"#, matches: ["", "aa"], not: ["b"]),
        Case("a counted empty group", "^(?:){1000000000}a$", matches: ["a"], not: [""]),
        Case(
            "a counted group of an element that is repeated zero times", "^((a{0}){99999999999999999999})*$",
            matches: [""], not: ["a"]),
    ]

    static let classes: [Case] = [
        Case("a range", "^[b-d]$", matches: ["b", "c", "d"], not: ["a", "e", "B", "é"]),
        Case("a negated class", "^[^b-d]$", matches: ["a", "e", "é", "\n"], not: ["", "c"]),
        Case("the empty class matches nothing", "[]", matches: [], not: ["", "a", "[]"]),
        Case("the negated empty class matches anything", "^[^]$", matches: ["a", "\n", "😀"], not: [""]),
        Case("hyphens at the edges", "^[-a][a-][-]$", matches: ["---", "aa-"], not: ["b--"]),
        Case("a range from a hyphen", "^[--/]+$", matches: ["-./"], not: [",", "0"]),
        Case("an escaped hyphen", #"^[a\-z]$"#, matches: ["a", "-", "z"], not: ["m"]),
        Case("a hyphen before the end after a class", #"^[\d-]+$"#, matches: ["1-2"], not: ["a"]),
        Case(
            "brackets and syntax characters in a class", #"^[[(.*+?{}|^$)\]\\]+$"#, matches: ["[(.*+?{}|^$)]\\"],
            not: ["a"]),
        Case("backspace", #"^[\b]$"#, matches: ["\u{8}"], not: ["b"]),
        Case("overlapping ranges", "^[a-mg-zc]+$", matches: ["agcz"], not: ["A"]),
        Case("a range beyond ASCII", "^[а-яё]+$", matches: ["привёт"], not: ["Привет"]),
        Case("a range of scalars beyond U+FFFF", "^[😀-😎]$", matches: ["😃"], not: ["🚀", "a"]),
        Case("classes in a class", #"^[\d\s_]+$"#, matches: ["1 _"], not: ["a"]),
        Case("negated classes in a negated class", #"^[^\D\S]$"#, matches: [], not: ["1", " ", "a"]),
        Case(
            "surrogates are never found", #"[\uD800-\uDFFF]|\uD83D|\uDE00"#, matches: [], not: ["😀", "a", "\u{FFFD}"]),
        Case("\\d is ASCII", #"^\d$"#, matches: ["0", "9"], not: ["a", "٣"]),
        Case("\\D matches all other scalars than \\d", #"^\D$"#, matches: ["a", "٣", "\n"], not: ["0"]),
        Case("\\w is ASCII", #"^\w$"#, matches: ["a", "Z", "0", "_"], not: ["é", "-", "\u{17F}", "\u{212A}"]),
        Case("\\W matches all other scalars than \\w", #"^\W$"#, matches: ["é", "-"], not: ["a", "_"]),
        Case(
            "\\s", #"^\s$"#,
            matches: ["\t", "\n", "\u{B}", "\u{C}", "\r", " ", "\u{A0}", "\u{FEFF}", "\u{2003}", "\u{2028}"],
            not: ["a", "\u{85}", "\u{200B}", "\u{180E}"]),
        Case("\\S matches all other scalars than \\s", #"^\S$"#, matches: ["a", "\u{85}"], not: [" ", "\u{3000}"]),
    ]

    static let escapes: [Case] = [
        Case("control escapes", #"^\t\n\v\f\r$"#, matches: ["\t\n\u{B}\u{C}\r"]),
        Case("control letters", #"^\cA\cz$"#, matches: ["\u{1}\u{1A}"]),
        Case("the null character", #"^\0[\0]$"#, matches: ["\u{0}\u{0}"]),
        Case("two hexadecimal digits", #"^\x41\xe9$"#, matches: ["Aé"]),
        Case("four hexadecimal digits", #"^\u0041\u20AC$"#, matches: ["A€"]),
        Case("a surrogate pair is one scalar", #"^\uD83D\uDE00{2}$"#, matches: ["😀😀"], not: ["😀"]),
        Case("a surrogate pair in a class", #"^[\uD83D\uDE00-\uD83D\uDE02]$"#, matches: ["😁"], not: ["😎"]),
        Case("surrogate halves in braces are not a pair", #"\u{D83D}\u{DE00}"#, matches: [], not: ["😀"]),
        Case("a code point in braces", #"^\u{1F600}\u{000000041}$"#, matches: ["😀A"]),
        Case("syntax characters", #"^\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/$"#, matches: ["^$\\.*+?()[]{}|/"]),
        Case("composed and decomposed letters differ", "^é$", matches: ["é"], not: ["e\u{301}"]),
    ]

    static let groups: [Case] = [
        Case("a named group", "^(?<year>[0-9]{4})$", matches: ["2024"], not: ["202"]),
        Case("a name with an escape", #"^(?<\u0061\u{62}$_1>x)$"#, matches: ["x"]),
        Case("a name with letters beyond ASCII", "^(?<größe>x)$", matches: ["x"]),
        Case("a name twice in different alternatives", "^(?:(?<n>a)|(?<n>b))$", matches: ["a", "b"], not: ["ab"]),
        Case("groups without contents", "^()(?:)(?<n>)$", matches: [""], not: ["a"]),
        Case(
            "two hundred nested groups", String(repeating: "(", count: 200) + "a" + String(repeating: ")", count: 200),
            matches: ["a"], not: ["b"]),
    ]

    static let properties: [Case] = [
        Case("a category by its short name", #"^\p{L}+$"#, matches: ["aÄж漢ǅ"], not: ["1", "-"]),
        Case("a category by its long name", #"^\p{Letter}+$"#, matches: ["aж"], not: ["1"]),
        Case("a category by its alias", #"^\p{digit}\p{punct}\p{cntrl}$"#, matches: ["٣!\u{7}"], not: ["a!\u{7}"]),
        Case(
            "a category with the name of the property", #"^\p{General_Category=Lu}\p{gc=Uppercase_Letter}$"#,
            matches: ["AÄ"],
            not: ["aa"]),
        Case("cased letters", #"^\p{LC}+$"#, matches: ["aAǅ"], not: ["漢", "ʰ"]),
        Case("a negated category", #"^\P{Lu}$"#, matches: ["a", "1", "é"], not: ["A", "É"]),
        Case("several categories", #"^[\p{Lu}\p{Nd}_]+$"#, matches: ["AÉ1٣_"], not: ["a", "é"]),
        Case("a negated category in a negated class", #"^[^\P{Lu}]+$"#, matches: ["AÉ"], not: ["a", "é"]),
        Case("other and unassigned", #"^\p{C}\p{Cn}\p{Co}$"#, matches: ["\u{0}\u{378}\u{E000}"], not: ["aaa"]),
        Case(
            "any, assigned and ASCII", #"^\p{Any}\p{Assigned}\p{ASCII}\P{ASCII}$"#, matches: ["\u{378}éaé"],
            not: ["éé\u{378}é"]),
        Case("the negation of Any matches nothing", #"\P{Any}"#, matches: [], not: ["", "a", "é"]),
    ]

    @Test(
        "A pattern matches each text that it should match, and no text that it should not match",
        arguments: basics + quantifiers + classes + escapes + groups + properties)
    func matching(sample: Case) throws {
        let pattern = try Pattern(sample.source)
        for text in sample.matching {
            var budget = 100_000
            #expect(pattern.matches(text, budget: &budget) == true, "\(sample.source) on \(text.debugDescription)")
        }
        for text in sample.failing {
            var budget = 100_000
            #expect(pattern.matches(text, budget: &budget) == false, "\(sample.source) on \(text.debugDescription)")
        }
    }

    @Test("A pattern can match several texts, and keeps its source")
    func reuse() throws {
        let pattern = try Pattern("^a+$")
        var budget = 1_000
        #expect(pattern.matches("aa", budget: &budget) == true)
        #expect(pattern.matches("ab", budget: &budget) == false)
        #expect(pattern.matches("aa", budget: &budget) == true)
        #expect(pattern.source == "^a+$")
    }

}

struct UnicodePropertyTests {
    static let categories = """
        Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl Currency_Symbol Sc \
        Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf \
        Initial_Punctuation Pi Letter L Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark \
        Math_Symbol Sm Modifier_Letter Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C \
        Other_Letter Lo Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co \
        Punctuation P punct Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt \
        Unassigned Cn Uppercase_Letter Lu
        """.split(separator: " ").map { String($0) }

    @Test(
        "Each general category of ECMA-262 is supported, with and without the name of the property",
        arguments: categories)
    func category(name: String) throws {
        _ = try Pattern(#"\p{\#(name)}\P{\#(name)}\p{gc=\#(name)}\P{General_Category=\#(name)}"#)
    }

    @Test(
        "An unsupported Unicode property is refused, or matches any scalar if allowsAnyProperty is true",
        arguments: ["Emoji", "Alphabetic", "Script=Greek", "scx=Grek", "Foo"])
    func unsupported(name: String) throws {
        let error = try #require(throws: PatternError.self) { try Pattern(#"^\p{\#(name)}$"#) }
        #expect(error.kind == .unsupported)
        #expect(
            error.reason
                == #"the Unicode property \#(name) is not supported; use a general category such as \p{L}"#)
        // Stored schemas are compiled with `allowsAnyProperty`. `\P` then also matches any scalar.
        let permissive = try Pattern(#"^a\P{\#(name)}$"#, allowsAnyProperty: true)
        var budget = 100
        #expect(permissive.matches("a!", budget: &budget) == true)
        #expect(permissive.matches("b!", budget: &budget) == false)
    }

    @Test(
        "Each scalar matches either a Unicode property or the negation of the property",
        arguments: ["Lu", "Assigned", "ASCII", "Any"])
    func negation(name: String) throws {
        let inside = try Pattern(#"^\p{\#(name)}$"#)
        let outside = try Pattern(#"^\P{\#(name)}$"#)
        for value in stride(from: UInt32(0), through: 0x2FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var budget = 100
            let text = String(scalar)
            #expect(inside.matches(text, budget: &budget) != outside.matches(text, budget: &budget))
        }
    }
}
