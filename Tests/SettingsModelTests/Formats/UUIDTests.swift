import Testing

@testable import SettingsModel

struct UUIDTests {
    static let cases: [FormatCase] = [
        .good("lower case", "123e4567-e89b-12d3-a456-426614174000"),
        .good("upper case", "123E4567-E89B-12D3-A456-426614174000"),
        .good("no version", "00000000-0000-0000-0000-000000000000"),
        .good("all ones", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        .bad("a digit missing at the end", "123e4567-e89b-12d3-a456-42661417400"),
        .bad("a digit too many at the end", "123e4567-e89b-12d3-a456-4266141740000"),
        .bad("a hyphen moved", "123e456-7e89b-12d3-a456-426614174000"),
        .bad("no hyphens", "123e4567e89b12d3a456426614174000"),
        .bad("braces", "{123e4567-e89b-12d3-a456-426614174000}"),
        .bad("a URN", "urn:uuid:123e4567-e89b-12d3-a456-426614174000"),
        .bad("a letter beyond f", "123g4567-e89b-12d3-a456-426614174000"),
        .bad("a Gujarati digit", "૧23e4567-e89b-12d3-a456-426614174000"),
        .bad("nothing", ""),
        .bad("a newline behind", "123e4567-e89b-12d3-a456-426614174000\n"),
    ]

    @Test(arguments: cases) func `A UUID is five groups of hexadecimal digits`(_ testCase: FormatCase) {
        testCase.check(by: .uuid)
    }
}
