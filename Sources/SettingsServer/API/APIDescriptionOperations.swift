internal import HTTPWire
internal import SettingsModel

/// A body in one of the types that it may have.
struct DescribedBody {
    let type: String
    let schema: JSONValue

    init(type: String = "application/json", _ schema: JSONValue) {
        self.type = type
        self.schema = schema
    }

    /// A body of JSON that a component describes.
    init(_ name: String) {
        self.init(DescribedSchema.reference(name) as JSONValue)
    }

    var content: JSONValue { ["schema": schema] }
}

/// An answer that is no error.
struct DescribedAnswer {
    let status: Int
    let summary: String
    var fields = ["Settings-Cursor"]
    var content: [DescribedBody] = []
}

/// What each method of each resource does, takes and answers.
extension Resource {
    /// The name in the names of operations.
    var title: String {
        switch self {
        case .service: "Service"
        case .suites: "Suites"
        case .suite: "Suite"
        case .keys: "Keys"
        case .setting: "Setting"
        case .schema: "Schema"
        case .observation: "Observation"
        case .observationOfSeveral: "ObservationOfSeveral"
        case .transaction: "Transaction"
        case .health: "Health"
        case .ready: "Readiness"
        case .metrics: "Metrics"
        case .description: "Description"
        }
    }

    /// All methods, with those that come by themselves.
    var describedMethods: [Method] {
        methods.flatMap { $0 == .get ? [.get, .head] : [$0] } + [.options]
    }

    func summary(of method: Method) -> String {
        switch (self, method) {
        case (_, .options): "Tell what may be done here."
        case (_, .head): "Answer as GET does, without the body."
        case (.service, _): "Name, version, place in history and where everything is."
        case (.suites, _): "List the suites."
        case (.suite, .get): "Read the values of a suite."
        case (.suite, .put): "Make a map what is stored; null is a value."
        case (.suite, .patch): "Merge a map into what is stored; null removes."
        case (.suite, _): "Remove what is stored, or the suite itself."
        case (.keys, _): "List the keys of a suite with their schemas."
        case (.setting, .get): "Read the effective value of a setting."
        case (.setting, .put): "Store a value."
        case (.setting, .patch): "Change the value in place."
        case (.setting, _): "Remove what is stored, back to the default."
        case (.schema, .get): "Read the schema of a suite as it was sent."
        case (.schema, .put): "Put a schema in force."
        case (.schema, _): "Remove the schema; any key with any value is admitted then."
        case (.observation, _): "Hear what changes in a suite, once or as a stream of events."
        case (.observationOfSeveral, _): "Hear what changes in several suites, once or as a stream of events."
        case (.transaction, _): "Do several operations on keys of several suites, all or none."
        case (.health, _): "Tell that the process works."
        case (.ready, _): "Tell whether writes are taken, and if not, why."
        case (.metrics, _): "What is counted, in the text form of Prometheus."
        case (.description, _): "This document."
        }
    }

    /// The bodies that a request may have.
    func bodies(of method: Method) -> [DescribedBody] {
        switch (self, method) {
        case (.setting, .put): [DescribedBody("Value")]
        case (.setting, .patch):
            [
                DescribedBody("InPlaceOperation"),
                DescribedBody(type: "application/merge-patch+json", DescribedSchema.reference("Value")),
                DescribedBody(type: "application/json-patch+json", DescribedSchema.reference("JSONPatch")),
            ]
        case (.suite, .put): [DescribedBody("Values")]
        case (.suite, .patch):
            [
                DescribedBody("Values"),
                DescribedBody(type: "application/merge-patch+json", DescribedSchema.reference("Values")),
            ]
        case (.schema, .put): [DescribedBody("Schema")]
        case (.transaction, .post): [DescribedBody("Transaction")]
        default: []
        }
    }

    /// The answers that are no errors.
    func successes(of method: Method) -> [DescribedAnswer] {
        switch (self, method) {
        case (_, .options):
            [DescribedAnswer(status: 204, summary: "The methods.", fields: ["Settings-Cursor", "Allow"])]
        case (.setting, .get), (.setting, .head):
            [
                tagged(
                    "The setting, or the bare value with `raw`.",
                    [
                        DescribedBody([
                            "anyOf": [DescribedSchema.reference("Setting"), DescribedSchema.reference("Value")]
                        ]),
                        DescribedBody(type: "text/plain", ["type": "string"]),
                    ], "Settings-Source"), notModified("Settings-Source"),
            ]
        case (.setting, .put): [written(200, "Setting"), written(201, "Setting")]
        case (.setting, _): [written(200, "Setting")]
        case (.suite, .get), (.suite, .head):
            [
                tagged(
                    "The suite, or the bare map with `raw`.",
                    [
                        DescribedBody([
                            "anyOf": [DescribedSchema.reference("SuiteState"), DescribedSchema.reference("Values")]
                        ])
                    ]),
                notModified(),
            ]
        case (.keys, _): [tagged("The keys.", [DescribedBody("KeyListing")]), notModified()]
        case (.schema, .get), (.schema, .head): [tagged("The schema.", [DescribedBody("Schema")]), notModified()]
        case (.schema, .put): [written(200, "WriteSummary"), written(201, "WriteSummary")]
        case (.suite, _), (.schema, _), (.transaction, _): [written(200, "WriteSummary")]
        case (.observation, _), (.observationOfSeveral, _):
            [
                DescribedAnswer(
                    status: 200, summary: "The state, or what changed since the cursor; or events without end.",
                    fields: ["Settings-Cursor", "Vary"],
                    content: [
                        DescribedBody("Observation"), DescribedBody(type: "text/event-stream", ["type": "string"]),
                    ])
            ]
        case (.suites, _): [read("The suites.", DescribedBody("SuiteListing"))]
        case (.service, _): [read("The service.", DescribedBody("Service"))]
        case (.health, _), (.ready, _): [read("It does.", DescribedBody("Status"))]
        case (.metrics, _): [read("The numbers.", DescribedBody(type: "text/plain", ["type": "string"]))]
        case (.description, _): [read("The document.", DescribedBody(["type": "object"]))]
        }
    }

    /// The statuses of errors, the lowest first.
    func problems(of method: Method) -> [Int] {
        // What may be wrong with any request, or with the daemon.
        let common = [400, 401, 403, 408, 413, 414, 421, 429, 431, 501, 503, 505]
        let own: [Int] =
            switch (self, method) {
            case (_, .options): []
            case (.setting, .get), (.setting, .head): [404, 409, 412]
            case (.observation, _): [404]
            case (.schema, .get), (.schema, .head): [404, 412]
            case (.suite, .get), (.suite, .head), (.keys, _): [404, 410, 412]
            case (.setting, .patch), (.schema, .put), (.transaction, _): [404, 409, 412, 415, 422, 507]
            case (.setting, _), (.suite, _), (.schema, _): [404, 412, 415, 422, 507]
            default: []
            }
        return (common + own).sorted()
    }

    private func read(_ summary: String, _ body: DescribedBody) -> DescribedAnswer {
        DescribedAnswer(status: 200, summary: summary, content: [body])
    }

    private func tagged(_ summary: String, _ content: [DescribedBody], _ fields: String...) -> DescribedAnswer {
        DescribedAnswer(status: 200, summary: summary, fields: ["Settings-Cursor", "ETag"] + fields, content: content)
    }

    private func notModified(_ fields: String...) -> DescribedAnswer {
        DescribedAnswer(
            status: 304, summary: "It has one of the tags that were sent.",
            fields: ["Settings-Cursor", "ETag"] + fields)
    }

    private func written(_ status: Int, _ body: String) -> DescribedAnswer {
        let created = self == .schema ? "There was no schema before." : "Nothing was stored before."
        return DescribedAnswer(
            status: status, summary: status == 201 ? created : "Done, or nothing to do.",
            fields: ["Settings-Cursor", "Preference-Applied"]
                + (self == .setting ? ["ETag", "Settings-Source"] : self == .transaction ? [] : ["ETag"]),
            content: [DescribedBody(body)])
    }
}
