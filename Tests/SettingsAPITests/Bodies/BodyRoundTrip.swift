import SettingsAPI
import SettingsModel
import Testing

/// A body as text and what it is about.
struct BodyCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String

    init(_ name: String, _ text: String) {
        testDescription = name
        self.text = text
    }
}

/// Reads the text, writes what was read, which must be the same text, and reads that, which must be the same value.
@discardableResult
func expectRoundTrip<Body: JSONReadable & JSONWritable & Equatable>(
    _ text: String, as type: Body.Type, sourceLocation: SourceLocation = #_sourceLocation
) throws -> Body {
    let body = try Body(json: JSONValue(parsing: text))
    #expect(body.jsonText() == text, sourceLocation: sourceLocation)
    #expect(try Body(json: JSONValue(parsing: body.jsonBytes())) == body, sourceLocation: sourceLocation)
    return body
}

/// What is wrong with a body, as text; nil if nothing is.
func bodyError<Body: JSONReadable>(_ text: String, as type: Body.Type) throws -> BodyError? {
    let json = try JSONValue(parsing: text)
    do {
        _ = try Body(json: json)
        return nil
    } catch {
        return error
    }
}

/// A body that is refused: where and why.
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
