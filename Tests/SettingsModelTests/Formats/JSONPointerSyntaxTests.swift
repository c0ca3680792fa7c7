import Testing

@testable import SettingsModel

struct JSONPointerSyntaxTests {
    static let cases: [FormatCase] = [
        .good("the whole document", ""),
        .good("an empty name", "/"),
        .good("two names", "/server/port"),
        .good("an index", "/list/0"),
        .good("an escaped slash", "/a~1b"),
        .good("an escaped tilde", "/a~0b"),
        .good("an escaped tilde before a digit", "/~01"),
        .good("a name beyond ASCII", "/größe/😀"),
        .good("a control character", "/\u{1}"),
        .good("a letter that combines with the slash", "/\u{301}"),
        .bad("no slash in front", "a"),
        .bad("a fragment", "#/a"),
        .bad("a tilde at the end", "/a~"),
        .bad("a tilde before another digit", "/a~2"),
        .bad("a tilde before a slash", "/a~/b"),
        .bad("two tildes", "/~~0"),
        .bad("a tilde before an Arabic-Indic zero", "/~٠"),
        .bad("a space in front", " /a"),
    ]

    @Test(arguments: cases) func `A JSON pointer is RFC 6901`(_ testCase: FormatCase) {
        testCase.check(by: .jsonPointer)
    }
}
