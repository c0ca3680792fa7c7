import Testing

@testable import SettingsModel

/// One text, what is special about it, and whether a format accepts it.
struct FormatCase: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let isValid: Bool

    var testDescription: String { name }

    static func good(_ name: String, _ text: String) -> FormatCase {
        FormatCase(name: name, text: text, isValid: true)
    }

    static func bad(_ name: String, _ text: String) -> FormatCase {
        FormatCase(name: name, text: text, isValid: false)
    }

    func check(by format: StringFormat, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(format.accepts(text) == isValid, "\(name)", sourceLocation: sourceLocation)
    }
}
