internal import SettingsModel

/// A schema that bodies refer to. Members may be added to answers at any time, so none of them closes its object; requests
/// are closed, since what is not known in them is refused.
struct DescribedSchema {
    let name: String
    let schema: JSONValue

    init(_ name: String, _ schema: JSONValue) {
        self.name = name
        self.schema = schema
    }

    /// A body with members, of which some are always there.
    init(_ name: String, _ summary: String, always: [(String, JSONValue)], sometimes: [(String, JSONValue)] = []) {
        self.init(
            name,
            [
                "description": .string(summary), "type": "object", "required": .array(always.map { .string($0.0) }),
                "properties": .map(always + sometimes),
            ])
    }

    static func reference(_ name: String) -> JSONValue {
        ["$ref": .string("#/components/schemas/\(name)")]
    }

    static func list(_ name: String) -> JSONValue {
        ["type": "array", "items": reference(name)]
    }

    /// All of them.
    static let all: [DescribedSchema] = names + settings + suites + writes + errors + requests
}

extension DescribedSchema {
    private static let text: JSONValue = ["type": "string"]
    private static let flag: JSONValue = ["type": "boolean"]
    private static let count: JSONValue = ["type": "integer", "minimum": 0]
    private static let texts: JSONValue = ["type": "array", "items": ["type": "string"]]
    private static let suite = ("suite", reference("SuiteName"))
    private static let key = ("key", reference("KeyName"))
    private static let revision = ("revision", reference("Revision"))
    private static let dryRun = ("dryRun", flag)
    private static let replayed = ("replayed", flag)

    private static let names = [
        DescribedSchema("SuiteName", ["type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"]),
        DescribedSchema(
            "KeyName",
            [
                "description": "At most 256 bytes of UTF-8 without control characters, but not . and ...",
                "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F]*$",
                "not": ["enum": [".", ".."]],
            ]),
        DescribedSchema(
            "Revision",
            ["description": "The number of a commit; they grow, and may be skipped.", "type": "integer", "minimum": 0]),
        DescribedSchema(
            "Cursor",
            [
                "description": "A place in history: its name and a revision.", "type": "string",
                "pattern": "^[^.]+[.][0-9]+$",
            ]),
        DescribedSchema("Time", ["type": "string", "format": "date-time"]),
        DescribedSchema("Source", ["enum": ["stored", "default", "unset", "invalid"]]),
        DescribedSchema("Value", ["description": "Any JSON."]),
        DescribedSchema(
            "Values", ["description": "Values by key.", "type": "object", "propertyNames": reference("KeyName")]),
        DescribedSchema(
            "Schema", ["description": "A JSON Schema of draft 2020-12 whose properties are keys.", "type": "object"]),
    ]

    private static let settingMembers: [(String, JSONValue)] = [
        ("value", reference("Value")), ("modified", reference("Time")), ("secret", flag),
        ("stored", reference("Value")),
        ("errors", list("Violation")),
    ]
    private static let settingAddress: [(String, JSONValue)] = [suite, key, ("source", reference("Source")), revision]

    private static let settings = [
        DescribedSchema(
            "Setting", "A key with its effective value; after a write with what it found.", always: settingAddress,
            sometimes: settingMembers + [("changed", flag), ("previous", reference("Previous")), dryRun, replayed]),
        DescribedSchema(
            "Previous", "What a write found.",
            always: [("value", reference("Value")), ("source", reference("Source")), revision]),
        DescribedSchema(
            "Key", "A key with all that is known of it.", always: settingAddress + [("writable", flag)],
            sometimes: settingMembers + [("schema", reference("Value"))]),
        DescribedSchema(
            "KeyListing", "The keys of a suite, or a page of them.", always: [suite, revision, ("keys", list("Key"))],
            sometimes: [("next", reference("KeyName"))]),
    ]

    private static let suites = [
        DescribedSchema(
            "SuiteState", "A suite with its values.",
            always: [
                suite, revision, ("schemaRevision", reference("Revision")), ("cursor", reference("Cursor")),
                ("values", reference("Values")),
            ],
            sometimes: [
                ("invalid", ["type": "object", "additionalProperties": reference("Invalid")]),
                ("secrets", list("KeyName")), ("violations", list("Violation")),
            ]),
        DescribedSchema(
            "Invalid", "What is stored and why it does not fit.", always: [("errors", list("Violation"))],
            sometimes: [("stored", reference("Value"))]),
        DescribedSchema(
            "SuiteListing", "The suites, or a page of them.", always: [("suites", list("SuiteEntry")), revision],
            sometimes: [("next", reference("SuiteName"))]),
        DescribedSchema(
            "SuiteEntry", "A suite in a listing.", always: [suite, ("keyCount", count), revision, ("hasSchema", flag)]),
        DescribedSchema(
            "Service", "What the daemon says of itself.",
            always: [
                ("name", text), ("version", text), revision, ("cursor", reference("Cursor")),
                ("links", ["type": "object", "additionalProperties": text]),
            ]),
        DescribedSchema(
            "Observation",
            "The state, or what changed since the cursor that was sent. With several suites, what belongs to one of them "
                + "stands under its name.",
            always: [revision, ("cursor", reference("Cursor")), ("changes", list("ObservedChange"))],
            sometimes: [
                suite, ("schemaRevision", ["type": ["integer", "object"]]), ("values", ["type": "object"]),
                ("invalid", ["type": "object"]), ("secrets", ["type": ["array", "object"]]),
                ("violations", ["type": ["array", "object"]]), ("reset", flag),
                ("dropped", ["type": ["boolean", "array"]]), ("missing", texts), ("more", flag),
                ("retryAfterMs", count),
            ]),
        DescribedSchema(
            "ObservedChange", "What a commit did to a key; names its suite where several are observed.",
            always: [
                key, ("oldSource", reference("Source")), ("source", reference("Source")), revision,
                ("modified", reference("Time")),
            ],
            sometimes: [suite, ("old", reference("Value")), ("new", reference("Value")), ("secret", flag)]),
        DescribedSchema("Status", "How it is.", always: [("status", text)]),
    ]

    private static let writes = [
        DescribedSchema(
            "WriteSummary", "What a write to several keys, or to a schema, did.",
            always: [revision, ("changed", flag)],
            sometimes: [
                ("changes", list("Change")), ("schemaRevision", reference("Revision")), dryRun, replayed,
            ]),
        DescribedSchema(
            "Change", "What a commit did to a key, in effective values.",
            always: [
                suite, key, ("oldSource", reference("Source")), ("source", reference("Source")), revision,
                ("modified", reference("Time")),
            ],
            sometimes: [("old", reference("Value")), ("new", reference("Value")), ("secret", flag)]),
    ]

    private static let errors = [
        DescribedSchema(
            "Problem", "An error, in the form of RFC 9457.",
            always: [
                ("type", text), ("status", ["type": "integer", "enum": .array(statuses)]), ("title", text),
                ("code", ["enum": .array(ErrorCode.allCases.map { .string($0.rawValue) })]), ("detail", text),
            ],
            sometimes: [
                ("errors", list("Violation")), ("didYouMean", texts), ("line", count), ("column", count),
                ("pointer", text),
                ("conflicts", list("Conflict")), ("stored", reference("Value")), ("oldest", reference("Revision")),
                ("current", reference("Current")), ("failed", list("FailedCondition")), ("limit", count),
                ("outcome", ["enum": ["not_done", "unknown"]]), ("allow", texts), ("retryAfterMs", count),
            ]),
        DescribedSchema(
            "Violation", "One rule of a schema that a value breaks.",
            always: [("pointer", text), ("keyword", text), ("detail", text)],
            sometimes: [
                ("suite", text), ("key", text), ("expected", reference("Value")), ("actual", reference("Value")),
            ]),
        DescribedSchema(
            "Conflict", "What of a suite a new schema does not fit: a key, or without one the suite as a whole.",
            always: [("errors", list("Violation"))], sometimes: [key, ("stored", reference("Value"))]),
        DescribedSchema("SuiteRevision", "A suite and its revision.", always: [suite, revision]),
        DescribedSchema("Current", ["anyOf": [reference("Setting"), reference("SuiteRevision")]]),
        DescribedSchema(
            "FailedCondition", "A condition or operation that failed; `pointer` says which of the two lists is meant.",
            always: [("index", count), ("current", reference("Current"))]),
    ]

    private static let statuses = APIDescription.problemStatuses.map { JSONValue.integer(Int64($0)) }
}
