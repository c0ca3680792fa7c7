import SettingsModel
import Testing

struct JSONParserRefusalTests {
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let line: Int
        let column: Int
        /// A part of the expected reason.
        let reason: String

        init(_ name: String, _ text: String, line: Int = 1, column: Int, _ reason: String) {
            testDescription = name
            self.text = text
            self.line = line
            self.column = column
            self.reason = reason
        }
    }

    static let values: [Refused] = [
        Refused("an empty text", "", column: 1, "expected a value, found the end of the text"),
        Refused("only spaces", "   ", column: 4, "expected a value, found the end of the text"),
        Refused("only line breaks", "\n\r\n\t", line: 3, column: 2, "expected a value, found the end of the text"),
        Refused("a byte order mark", "\u{FEFF}1", column: 1, "byte order mark"),
        Refused("only a byte order mark", "\u{FEFF}", column: 1, "byte order mark"),
        Refused("a byte order mark after a space", " \u{FEFF}1", column: 2, "expected a value"),
        Refused("an incomplete literal", "tru", column: 1, "did you mean true, or a text in quotation marks?"),
        Refused(
            "an incomplete literal before a bracket", "[fals]", column: 2,
            "did you mean false, or a text in quotation marks?"),
        Refused("a capital letter", "True", column: 1, "found 'T'"),
        Refused("capitals", "[NULL]", column: 2, "found 'N'"),
        Refused("a wrong letter", "nul1", column: 1, "did you mean null, or a text in quotation marks?"),
        Refused("undefined", "undefined", column: 1, "found 'u'"),
        Refused("NaN", "NaN", column: 1, "found 'N'"),
        Refused("nan", "nan", column: 1, "did you mean null, or a text in quotation marks?"),
        Refused("Infinity", "[Infinity]", column: 2, "found 'I'"),
        Refused("minus Infinity", "-Infinity", column: 2, "expected a digit after '-', found 'I'"),
        Refused("single quotes", "'a'", column: 1, "found '''"),
        Refused("a line comment", "// one\n1", column: 1, "found '/'"),
        Refused("a block comment", "[1, /* two */ 2]", column: 5, "found '/'"),
        Refused("a hash comment", "1 # one", column: 3, "expected the end of the text after the value, found '#'"),
        Refused("a non-breaking space", "\u{A0}1", column: 1, "expected a value, found '\u{A0}'"),
        Refused("a form feed between values", "[1,\u{C}2]", column: 4, "control character U+000C"),
        Refused("a vertical tab before the value", "\u{B}1", column: 1, "control character U+000B"),
        Refused("NUL", "\u{0}", column: 1, "control character U+0000"),
        Refused("NUL after the value", "1\u{0}", column: 2, "expected the end of the text after the value"),
        Refused("two values", "1 2", column: 3, "expected the end of the text after the value, found '2'"),
        Refused(
            "two values in lines", "{}\n{}", line: 2, column: 1,
            "expected the end of the text after the value, found '{'"),
        Refused(
            "one more closing bracket", "[]]", column: 3, "expected the end of the text after the value, found ']'"),
        Refused(
            "a literal with one more letter", "nulll", column: 5,
            "expected the end of the text after the value, found 'l'"),
        Refused("a letter without quotation marks", "é", column: 1, "found 'é'"),
    ]

    static let containers: [Refused] = [
        Refused("an open array", "[", column: 2, "expected a value, found the end of the text"),
        Refused(
            "an open array with an element", "[1", column: 3, "expected ',' or ']' after the element, found the end"),
        Refused("an open array with a comma", "[1,", column: 4, "expected a value, found the end of the text"),
        Refused("a comma at the end of an array", "[1,]", column: 4, "expected a value, found ']'"),
        Refused("a comma at the start of an array", "[,1]", column: 2, "expected a value, found ','"),
        Refused("two commas", "[1,,2]", column: 4, "expected a value, found ','"),
        Refused("no comma", "[1 2]", column: 4, "expected ',' or ']' after the element, found '2'"),
        Refused("a colon in an array", "[1:2]", column: 3, "expected ',' or ']' after the element, found ':'"),
        Refused("an array closed as an object", "[1}", column: 3, "expected ',' or ']' after the element, found '}'"),
        Refused("only a closing bracket", "]", column: 1, "expected a value, found ']'"),
        Refused("an open object", "{", column: 2, "expected a name in quotation marks, found the end"),
        Refused("an open object with a name", #"{"a""#, column: 5, "expected ':' after the name, found the end"),
        Refused("an open object with a colon", #"{"a":"#, column: 6, "expected a value, found the end of the text"),
        Refused("an open object with a member", #"{"a":1"#, column: 7, "expected ',' or '}' after the member"),
        Refused("a comma at the end of an object", #"{"a":1,}"#, column: 8, "expected a name in quotation marks"),
        Refused("a comma at the start of an object", #"{,"a":1}"#, column: 2, "expected a name in quotation marks"),
        Refused("a name without quotation marks", "{a:1}", column: 2, "expected a name in quotation marks, found 'a'"),
        Refused("a name in single quotes", "{'a':1}", column: 2, "expected a name in quotation marks, found '''"),
        Refused("a number as a name", "{1:1}", column: 2, "expected a name in quotation marks, found '1'"),
        Refused("null as a name", "{null:1}", column: 2, "expected a name in quotation marks, found 'n'"),
        Refused("a name without a value", #"{"a"}"#, column: 5, "expected ':' after the name, found '}'"),
        Refused("a colon without a value", #"{"a":}"#, column: 6, "expected a value, found '}'"),
        Refused("an equals sign", #"{"a"=1}"#, column: 5, "expected ':' after the name, found '='"),
        Refused("two colons", #"{"a"::1}"#, column: 6, "expected a value, found ':'"),
        Refused("no comma between members", #"{"a":1 "b":2}"#, column: 8, "expected ',' or '}' after the member"),
        Refused("an object closed as an array", #"{"a":1]"#, column: 7, "expected ',' or '}' after the member"),
        Refused("an error in line 3", "{\n  \"é\": 1,\n  \"€😀\": x\n}", line: 3, column: 9, "found 'x'"),
        Refused("a carriage return alone does not begin a line", "[\r\n\r1,\r x]", line: 2, column: 6, "found 'x'"),
    ]

    static let duplicates: [Refused] = [
        Refused("a name twice", #"{"a":1,"a":1}"#, column: 8, #"the name "a" occurs twice"#),
        Refused(
            "a name twice, with another name in between", #"{"a":1,"b":2,"a":3}"#, column: 14,
            #"the name "a" occurs twice"#),
        Refused("a name and its escaped form", #"{"a":1,"\u0061":1}"#, column: 8, #"the name "a" occurs twice"#),
        Refused(
            "a name with two different escapes", #"{"\n":1,"\u000A":1}"#, column: 9, #"the name "\n" occurs twice"#),
        Refused("a slash and an escaped slash", #"{"/":1,"\/":1}"#, column: 8, #"the name "/" occurs twice"#),
        Refused("a scalar and its surrogate pair", #"{"😀":1,"\uD83D\uDE00":1}"#, column: 8, "occurs twice"),
        Refused(
            "an escape with digits in upper and lower case", #"{"\u00e9":1,"\u00E9":1}"#, column: 13, "occurs twice"),
        Refused("the empty name", #"{"":1,"":2}"#, column: 7, #"the name "" occurs twice"#),
        Refused(
            "in an inner object", "[{\"a\":{\n\"b\":1,\"b\":2}}]", line: 2, column: 7, #"the name "b" occurs twice"#),
    ]

    static let depths: [Refused] = [
        Refused("129 arrays", String(repeating: "[", count: 129), column: 129, "more than 128 levels"),
        Refused("129 closed arrays", nested(129, "[", "]"), column: 129, "more than 128 levels"),
        Refused("129 objects", nested(129, #"{"":"#, "}"), column: 128 * 4 + 1, "more than 128 levels"),
        Refused("arrays and objects", nested(65, #"[{"":"#, "}]"), column: 64 * 5 + 1, "more than 128 levels"),
    ]

    private static func nested(_ levels: Int, _ opening: String, _ closing: String) -> String {
        String(repeating: opening, count: levels) + "0" + String(repeating: closing, count: levels)
    }

    @Test(
        "A text that is not JSON is refused with the position and the reason",
        arguments: values + containers + duplicates + depths + JSONRefusedTokens.all)
    func refused(_ refused: Refused) throws {
        let error = try #require(parseFailure(of: Array(refused.text.utf8)))
        #expect(error.line == refused.line)
        #expect(error.column == refused.column)
        #expect(error.reason.contains(refused.reason), "\(error)")
        #expect(error.description == "line \(refused.line), column \(refused.column): \(error.reason)")
        #expect(parseFailure(of: refused.text) == error)
    }

    @Test("The offset counts bytes, the column counts scalars")
    func offset() throws {
        let error = try #require(parseFailure(of: "[\"\u{1F600}\",\n\"\u{E9}\", x]"))
        #expect(error.offset == 15)
        #expect((error.line, error.column) == (2, 6))
    }
}

/// Invalid strings and numbers.
enum JSONRefusedTokens {
    typealias Refused = JSONParserRefusalTests.Refused

    static let all: [Refused] = strings + surrogates + numbers

    private static let strings: [Refused] = [
        Refused(
            "an open string", #""abc"#, column: 5, "expected '\"' at the end of the string, found the end of the text"),
        Refused("only a quotation mark", "\"", column: 2, "at the end of the string, found the end of the text"),
        Refused(
            "an open string after an escape", #""a\n"#, column: 5, "at the end of the string, found the end of the text"
        ),
        Refused("an open string with an escaped quotation mark", #""a\""#, column: 5, "found the end"),
        Refused("a backslash at the end", #""a\"#, column: 4, "at the end of the string, found the end of the text"),
        Refused("an open string in a name", #"{"a"#, column: 4, "at the end of the string, found the end of the text"),
        Refused("NUL in a string", "\"a\u{0}b\"", column: 3, "control character U+0000"),
        Refused("a line feed in a string", "\"a\nb\"", column: 3, "control character U+000A"),
        Refused("a tab in a string", "\"\tb\"", column: 2, "expected an escape such as \\n in the string"),
        Refused("U+001F in a string", "\"\u{1F}\"", column: 2, "control character U+001F"),
        Refused("a control character after an escape", "\"\\n\r\"", column: 4, "control character U+000D"),
        Refused("a control character in a name", "{\"\u{1}\":1}", column: 3, "control character U+0001"),
        Refused(
            "an escaped line feed", "\"\\\n\"", column: 3, "after the backslash, found the control character U+000A"),
        Refused("an unknown escape", #""\x41""#, column: 3, "after the backslash, found 'x'"),
        Refused("an escaped single quote", #""\'""#, column: 3, "after the backslash, found '''"),
        Refused("an escaped zero", #""\0""#, column: 3, "after the backslash, found '0'"),
        Refused("a capital escape", #""\N""#, column: 3, "after the backslash, found 'N'"),
        Refused("a capital U", #""\U0041""#, column: 3, "after the backslash, found 'U'"),
        Refused("an escaped é", #""\é""#, column: 3, "after the backslash, found 'é'"),
        Refused("no digits", #""\u""#, column: 4, #"four hexadecimal digits after \u, found '"'"#),
        Refused("three digits", #""\u004""#, column: 7, #"four hexadecimal digits after \u, found '"'"#),
        Refused(
            "a letter that is not a hexadecimal digit", #""\u00g0""#, column: 6,
            #"four hexadecimal digits after \u, found 'g'"#),
        Refused("a sign among the digits", #""\u+041""#, column: 4, #"four hexadecimal digits after \u, found '+'"#),
        Refused("braces", #""\u{41}""#, column: 4, #"four hexadecimal digits after \u, found '{'"#),
        Refused("the end among the digits", #""\u00"#, column: 6, #"four hexadecimal digits after \u, found the end"#),
    ]

    private static let surrogates: [Refused] = [
        Refused("only the first half", #""\uD83D""#, column: 2, "surrogate pair"),
        Refused("only the second half", #""\uDE00""#, column: 2, "surrogate pair"),
        Refused("the first half before text", #""a\uD83Db""#, column: 3, "surrogate pair"),
        Refused("the first half before an escape", #""\uD83D\n""#, column: 2, "surrogate pair"),
        Refused("the first half before a letter's escape", #""\uD83D\u0041""#, column: 2, "surrogate pair"),
        Refused("the first half before U+E000", #""\uD800\uE000""#, column: 2, "surrogate pair"),
        Refused("the first half before U+FFFF", #""\uD83D\uFFFF""#, column: 2, "surrogate pair"),
        Refused("two second halves", #""\uDC00\uDC00""#, column: 2, "surrogate pair"),
        Refused("two first halves", #""\uD83D\uD83D""#, column: 2, "surrogate pair"),
        Refused("two first halves and a second", #""\uD83D\uD83D\uDE00""#, column: 2, "surrogate pair"),
        Refused("the halves exchanged", #""\uDE00\uD83D""#, column: 2, "surrogate pair"),
        Refused("a second half after a pair", #""\uD83D\uDE00\uDE00""#, column: 14, "surrogate pair"),
        Refused("a first half in a name", #"{"\uDBFF":1}"#, column: 3, "surrogate pair"),
        Refused("an incomplete second half", #""\uD83D\uDE"#, column: 12, "four hexadecimal digits"),
        Refused("the first half at the end", #""\uD83D"#, column: 2, "surrogate pair"),
    ]

    private static let numbers: [Refused] = [
        Refused("only a sign", "-", column: 2, "expected a digit after '-', found the end"),
        Refused("a sign before a letter", "-a", column: 2, "expected a digit after '-', found 'a'"),
        Refused("two signs", "--1", column: 2, "expected a digit after '-', found '-'"),
        Refused("a space after the sign", "- 1", column: 2, "expected a digit after '-', found ' '"),
        Refused("a leading plus", "+1", column: 1, "expected a value, found '+'"),
        Refused("a leading zero", "01", column: 1, "leading zeros"),
        Refused("two zeros", "00", column: 1, "leading zeros"),
        Refused("a leading zero after the sign", "[-01]", column: 3, "leading zeros"),
        Refused("a leading zero before a fraction", "00.5", column: 1, "leading zeros"),
        Refused("a fraction alone", ".5", column: 1, "expected a value, found '.'"),
        Refused("a fraction after the sign", "-.5", column: 2, "expected a digit after '-', found '.'"),
        Refused("a decimal point without digits", "1.", column: 3, "after the decimal point, found the end"),
        Refused("a point before an exponent", "1.e5", column: 3, "after the decimal point, found 'e'"),
        Refused("a point before a comma", "[1.,2]", column: 4, "after the decimal point, found ','"),
        Refused("two points", "1.2.3", column: 4, "expected the end of the text after the value, found '.'"),
        Refused("a decimal comma", "1,5", column: 2, "expected the end of the text after the value, found ','"),
        Refused("an exponent without digits", "1e", column: 3, "in the exponent, found the end"),
        Refused("an exponent with only a sign", "1e+", column: 4, "in the exponent, found the end"),
        Refused("an exponent with two signs", "1e--1", column: 4, "in the exponent, found '-'"),
        Refused(
            "an exponent with a fraction", "1e1.5", column: 4, "expected the end of the text after the value, found '.'"
        ),
        Refused("an exponent alone", "e5", column: 1, "expected a value, found 'e'; a text needs quotation marks"),
        Refused("hexadecimal", "0x1F", column: 2, "expected the end of the text after the value, found 'x'"),
        Refused("a hexadecimal double", "0x1p4", column: 2, "expected the end of the text after the value, found 'x'"),
        Refused("underscores", "1_000", column: 2, "expected the end of the text after the value, found '_'"),
        Refused("a suffix", "1f", column: 2, "expected the end of the text after the value, found 'f'"),
        Refused("an Arabic digit", "\u{661}", column: 1, "expected a value, found"),
        Refused("a full-width digit", "1\u{FF11}", column: 2, "expected the end of the text after the value"),
        Refused("Int64.max + 1", "9223372036854775808", column: 1, "an integer must be between"),
        Refused("Int64.min - 1", "[-9223372036854775809]", column: 2, "an integer must be between"),
        Refused("UInt64.max", "18446744073709551615", column: 1, "an integer must be between"),
        Refused("UInt64.max + 1", "18446744073709551616", column: 1, "an integer must be between"),
        Refused("UInt64.max + 2", "18446744073709551617", column: 1, "an integer must be between"),
        Refused("Int64.max times ten", "92233720368547758070", column: 1, "an integer must be between"),
        Refused("a multiple of 2⁶⁴", "184467440737095516160", column: 1, "an integer must be between"),
        Refused("-(2¹²⁸ + 1)", "-340282366920938463463374607431768211457", column: 1, "an integer must be between"),
        Refused("a hundred digits", String(repeating: "1", count: 100), column: 1, "an integer must be between"),
        Refused("1e400", "1e400", column: 1, "a number must be between"),
        Refused("-1e400", "[0,-1e400]", column: 4, "a number must be between"),
        Refused(
            "nearly one unit in the last place beyond the largest double", "1.7976931348623159e308", column: 1,
            "a number must be between"),
        Refused("400 digits and a fraction", String(repeating: "9", count: 400) + ".0", column: 1, "a number must be"),
        Refused("an exponent beyond Int64", "1e99999999999999999999", column: 1, "a number must be between"),
    ]
}
