import Testing

@testable import SettingsModel

/// A document that is no schema, and everything that is wrong with it, in order.
struct BadSchema: Sendable, CustomTestStringConvertible {
    struct Problem: Sendable {
        let pointer: String
        let keyword: String
        /// What only this problem says.
        let part: String
        let isUnsupported: Bool

        init(_ pointer: String, _ keyword: String, _ part: String, isUnsupported: Bool = false) {
            self.pointer = pointer
            self.keyword = keyword
            self.part = part
            self.isUnsupported = isUnsupported
        }
    }

    let name: String
    let text: String
    let problems: [Problem]

    init(_ name: String, _ text: String, _ problems: Problem...) {
        self.init(name, text, problems)
    }

    init(_ name: String, _ text: String, _ problems: [Problem]) {
        self.name = name
        self.text = text
        self.problems = problems
    }

    var testDescription: String { name }

    /// Expects the problems of a schema for one value.
    func check() throws {
        check(problems: BadSchema.problems(of: try JSONValue(parsing: text)))
    }

    /// Expects the problems of a schema for a suite.
    func checkAsSuite() throws {
        check(problems: BadSchema.suiteProblems(of: try JSONValue(parsing: text)))
    }

    static func problems(of document: JSONValue) -> [SchemaError.Problem] {
        do {
            _ = try JSONSchema(document)
            return []
        } catch {
            return error.problems
        }
    }

    static func suiteProblems(of document: JSONValue) -> [SchemaError.Problem] {
        do {
            _ = try Schema(document)
            return []
        } catch {
            return error.problems
        }
    }

    private func check(problems found: [SchemaError.Problem]) {
        #expect(found.count == problems.count, "\(name): \(found)")
        for (found, expected) in zip(found, problems) {
            #expect(found.pointer.description == expected.pointer, "\(name): \(found)")
            #expect(found.keyword == expected.keyword, "\(name): \(found)")
            #expect(found.detail.contains(expected.part), "\(name): \(found)")
            #expect(found.isUnsupported == expected.isUnsupported, "\(name): \(found)")
        }
    }
}
