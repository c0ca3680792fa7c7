internal import HTTPWire
internal import SettingsModel

/// A field of requests or answers as OpenAPI describes it.
struct DescribedField {
    let name: String
    let summary: String
    let schema: JSONValue

    /// As a field of answers.
    var header: JSONValue {
        ["description": .string(summary), "schema": schema]
    }

    /// As a field of requests.
    var parameter: JSONValue {
        ["name": .string(name), "in": "header", "description": .string(summary), "schema": schema]
    }

    /// References to fields of answers, by name.
    static func references(_ names: [String]) -> JSONValue {
        .map(names.map { ($0, ["$ref": .string("#/components/headers/\($0)")]) })
    }
}

extension DescribedField {
    static let answers = [cursor, tag, source, allow, retryAfter, vary, preferenceApplied]

    static let cursor = DescribedField(
        name: "Settings-Cursor", summary: "The place in history that the answer is true at.",
        schema: DescribedSchema.reference("Cursor"))
    static let tag = DescribedField(
        name: "ETag", summary: "The revision of what the answer shows, in quotation marks.", schema: ["type": "string"])
    static let source = DescribedField(
        name: "Settings-Source", summary: "Where the value comes from.", schema: DescribedSchema.reference("Source"))
    static let allow = DescribedField(
        name: "Allow", summary: "The methods that the resource knows.", schema: ["type": "string"])
    static let retryAfter = DescribedField(
        name: "Retry-After", summary: "After how many seconds to try again.", schema: ["type": "integer", "minimum": 0])

    static let vary = DescribedField(
        name: "Vary", summary: "The fields of the request that the answer depends on.", schema: ["type": "string"])

    static let preferenceApplied = DescribedField(
        name: "Preference-Applied", summary: "The preference that the answer follows.",
        schema: ["const": "return=minimal"])

    static let prefer = DescribedField(
        name: "Prefer", summary: "`return=minimal` asks for an answer without values, `previous` and `changes`.",
        schema: ["type": "string"])
    static let ifMatch = DescribedField(
        name: "If-Match", summary: "Write only if it has one of these tags, or for * if it is there.",
        schema: ["type": "string"])
    static let ifMatchToRead = DescribedField(
        name: "If-Match", summary: "Answer 412 unless it has one of these tags; * holds of whatever is there.",
        schema: ["type": "string"])
    static let ifNoneMatchToWrite = DescribedField(
        name: "If-None-Match", summary: "Write only if it has none of these tags, or for * if it is not there.",
        schema: ["type": "string"])
    static let ifNoneMatch = DescribedField(
        name: "If-None-Match", summary: "Answer 304 if it has one of these tags.", schema: ["type": "string"])
    static let accept = DescribedField(
        name: "Accept",
        summary: "`text/event-stream`, unless `application/json` has a higher q, asks for a stream of events.",
        schema: ["type": "string"])
    static let lastEventID = DescribedField(
        name: "Last-Event-ID", summary: "The id of the last event of a stream; beats `since`.",
        schema: DescribedSchema.reference("Cursor"))
    static let requestKey = DescribedField(
        name: "Idempotency-Key", summary: "Names the request, so that a repeat is answered as the first time.",
        schema: ["type": "string", "minLength": 1, "maxLength": .integer(Int64(RequestKey.maximumLength))])
}

extension Resource {
    /// The fields that a request may have, beside those of any request.
    func fields(of method: Method) -> [DescribedField] {
        switch (self, method) {
        case (_, .put), (_, .patch), (_, .delete): [.ifMatch, .ifNoneMatchToWrite, .requestKey, .prefer]
        case (.transaction, .post): [.requestKey, .prefer]
        case (.observation, .get), (.observation, .head), (.observationOfSeveral, .get), (.observationOfSeveral, .head):
            [.accept, .lastEventID]
        case (.suite, .get), (.suite, .head), (.keys, .get), (.keys, .head), (.setting, .get), (.setting, .head),
            (.schema, .get), (.schema, .head):
            [.ifMatchToRead, .ifNoneMatch]
        default: []
        }
    }

    /// The names in the path.
    var pathParameters: [JSONValue] {
        [("suite", "The name of a suite."), ("key", "The name of a key, percent-encoded in one segment.")].compactMap {
            name, summary in
            guard rawValue.contains("{\(name)}") else { return nil }
            let schema = DescribedSchema.reference(name == "suite" ? "SuiteName" : "KeyName")
            return [
                "name": .string(name), "in": "path", "required": true, "description": .string(summary),
                "schema": schema,
            ]
        }
    }
}
