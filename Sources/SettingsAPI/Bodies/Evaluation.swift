package import SettingsModel

/// A setting in the protocol of OpenFeature: a flag with its value.
package struct Flag: JSONWritable {
    private let suite: SuiteName
    private let key: KeyName
    private let value: JSONValue?
    private let source: Source
    private let revision: Revision

    /// - Parameter value: nil if the setting is unset. The program then uses its own default.
    package init(_ suite: SuiteName, _ key: KeyName, _ value: JSONValue?, source: Source, revision: Revision) {
        self.suite = suite
        self.key = key
        self.value = value
        self.source = source
        self.revision = revision
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.member("value", value)
        // `STATIC`: the value is the same for all evaluation contexts.
        writer.member("reason", value == nil ? "DEFAULT" : "STATIC")
        writer.member("variant", source)
        writer.name(literal: "metadata")
        writer.beginObject()
        writer.member("suite", suite)
        writer.member("revision", revision)
        writer.endObject()
        writer.endObject()
    }
}

/// An error in the protocol of OpenFeature.
package struct EvaluationFailure: JSONWritable {
    /// The location of the evaluation context in the body of a request. A problem has this location if the context is
    /// missing or is not an object.
    package static let context: JSONPointer = ["context"]

    private let key: String?
    private let code: String
    private let detail: String

    package init(_ problem: Problem, ofFlag key: String?) {
        self.key = key
        detail = problem.detail
        code =
            switch problem.code {
            case .unknownSuite, .unknownKey: "FLAG_NOT_FOUND"
            case .badRequest where problem.pointer == Self.context: "INVALID_CONTEXT"
            case .badRequest, .invalidStored: "PARSE_ERROR"
            default: "GENERAL"
            }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.member("errorCode", code)
        writer.member("errorDetails", detail)
        writer.endObject()
    }
}
