package import SettingsModel

/// A key of a suite as OpenFeature's protocol has it: a flag with its value.
package struct Flag: JSONWritable {
    private let suite: SuiteName
    private let key: KeyName
    private let value: JSONValue?
    private let source: Source
    private let revision: Revision

    /// - Parameter value: nil if the key is not set and has no default: the default of the program applies.
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

/// An error as OpenFeature's protocol has it.
package struct EvaluationFailure: JSONWritable {
    /// The place in a request of a context that is missing or no object.
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
