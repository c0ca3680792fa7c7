import Testing

@testable import SettingsModel

/// A value that a schema refuses, and every violation word by word.
struct ViolationCase: Sendable, CustomTestStringConvertible {
    let name: String
    let schema: String
    let value: String
    let violations: [Violation]

    /// A case named after the first keyword that is broken.
    init(_ schema: String, _ value: String, _ violations: Violation...) {
        name = "\(violations.first?.keyword ?? "") of \(value)"
        self.schema = schema
        self.value = value
        self.violations = violations
    }

    var testDescription: String { name }

    func check() throws {
        let schema = try JSONSchema(JSONValue(parsing: schema))
        let value = try JSONValue(parsing: value)
        #expect(schema.violations(of: value) == violations, "\(self.schema) on \(self.value)")
        #expect(schema.allows(value) == violations.isEmpty)
    }
}

extension Violation {
    /// A violation at a place given as text.
    init(
        at pointer: String = "", _ keyword: String, _ detail: String, _ expected: JSONValue? = nil,
        was actual: JSONValue? = nil
    ) {
        self.init(
            pointer: JSONPointer(pointer) ?? .root, keyword: keyword, detail: detail, expected: expected,
            actual: actual)
    }
}
