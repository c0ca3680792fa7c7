import SettingsAPI
import SettingsModel
import Testing

/// The text of a body, and a name for the test case.
struct BodyCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String

    init(_ name: String, _ text: String) {
        testDescription = name
        self.text = text
    }
}

/// Reads a body from the text. Expects that writing the body gives the same text, and that reading this text gives an
/// equal body.
@discardableResult
func expectRoundTrip<Body: JSONReadable & JSONWritable & Equatable>(
    _ text: String, as type: Body.Type, sourceLocation: SourceLocation = #_sourceLocation
) throws -> Body {
    let body = try Body(json: JSONValue(parsing: text))
    #expect(body.jsonText() == text, sourceLocation: sourceLocation)
    #expect(try Body(json: JSONValue(parsing: body.jsonBytes())) == body, sourceLocation: sourceLocation)
    return body
}

/// Reads a body from the text. Returns the error; nil if the body is valid.
func bodyError<Body: JSONReadable>(_ text: String, as type: Body.Type) throws -> BodyError? {
    let json = try JSONValue(parsing: text)
    do {
        _ = try Body(json: json)
        return nil
    } catch {
        return error
    }
}

/// An invalid body, with the location and the reason of the error.
struct RefusedBody: CustomTestStringConvertible, Sendable {
    let testDescription: String
    private let text: String
    private let pointer: String
    /// Texts that the description of the error contains.
    private let facts: [String]
    private let didYouMean: [String]

    init(
        _ name: String, _ text: String, at pointer: String = "", stating facts: [String], didYouMean: [String] = []
    ) {
        testDescription = name
        self.text = text
        self.pointer = pointer
        self.facts = facts
        self.didYouMean = didYouMean
    }

    /// Expects an error with the pointer, the suggestions and the facts. The description of the error names each
    /// member, and the number of each element, on the path to the invalid value, and does not contain the pointer.
    func expectRefusal<Body: JSONReadable>(as type: Body.Type) throws {
        let error = try #require(try bodyError(text, as: type))
        #expect(error.pointer.description == pointer)
        #expect(error.didYouMean == didYouMean)
        for fact in facts { #expect(error.description.contains(fact), "\(error)") }
        for token in error.pointer.tokens {
            let phrase = Int(token).map { "element \($0 + 1)" } ?? "\"\(token)\""
            #expect(error.description.contains(phrase), "\(error)")
        }
        #expect(pointer.isEmpty || !error.description.contains(pointer), "\(error)")
    }
}
