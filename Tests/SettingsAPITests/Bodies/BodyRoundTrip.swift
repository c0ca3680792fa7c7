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

/// Reads the text and writes the result, which must give the same text. Reads this text again, which must give an equal
/// value.
@discardableResult
func expectRoundTrip<Body: JSONReadable & JSONWritable & Equatable>(
    _ text: String, as type: Body.Type, sourceLocation: SourceLocation = #_sourceLocation
) throws -> Body {
    let body = try Body(json: JSONValue(parsing: text))
    #expect(body.jsonText() == text, sourceLocation: sourceLocation)
    #expect(try Body(json: JSONValue(parsing: body.jsonBytes())) == body, sourceLocation: sourceLocation)
    return body
}

/// The error of reading a body; nil if it is valid.
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
    let text: String
    let description: String
    let didYouMean: [String]

    init(_ name: String, _ text: String, _ description: String, didYouMean: [String] = []) {
        testDescription = name
        self.text = text
        self.description = description
        self.didYouMean = didYouMean
    }
}
