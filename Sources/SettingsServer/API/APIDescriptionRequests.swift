internal import SettingsModel

/// The schemas of bodies that requests have.
extension DescribedSchema {
    /// A body that is closed: a member that it does not have is refused.
    private static func closed(_ name: String, _ members: [(String, JSONValue)], optional: [(String, JSONValue)] = [])
        -> DescribedSchema
    {
        DescribedSchema(name, closed(members, optional: optional))
    }

    private static func closed(_ members: [(String, JSONValue)], optional: [(String, JSONValue)] = []) -> JSONValue {
        [
            "type": "object", "required": .array(members.map { .string($0.0) }), "properties": .map(members + optional),
            "additionalProperties": false,
        ]
    }

    private static let text: JSONValue = ["type": "string"]
    private static let values: JSONValue = ["type": "array", "items": reference("Value")]

    /// The operations in place with the member that each works with.
    private static let operands: [(op: String, members: [(String, JSONValue)])] = [
        ("add", [("by", ["type": "number"])]), ("append", [("values", values)]), ("concat", [("text", text)]),
        ("toggle", []), ("merge", [("value", reference("Value"))]), ("patch", [("patch", reference("JSONPatch"))]),
    ]

    private static func operation(_ op: String, _ address: [(String, JSONValue)], _ operand: [(String, JSONValue)])
        -> JSONValue
    {
        closed([("op", ["const": .string(op)])] + address + operand)
    }

    private static let address = [("suite", reference("SuiteName")), ("key", reference("KeyName"))]

    /// A step of a JSON Patch. What it does not know is ignored, as RFC 6902 has it.
    private static func step(_ words: [JSONValue], _ operand: (String, JSONValue)...) -> JSONValue {
        let members = [("op", ["enum": .array(words)]), ("path", reference("JSONPointer"))] + operand
        return [
            "type": "object", "required": .array(members.map { .string($0.0) }), "properties": .map(members),
            "additionalProperties": true,
        ]
    }

    static let requests = [
        DescribedSchema("InPlaceOperation", ["oneOf": .array(operands.map { operation($0.op, [], $0.members) })]),
        DescribedSchema(
            "Operation",
            [
                "oneOf": .array(
                    [operation("set", address, [("value", reference("Value"))]), operation("delete", address, [])]
                        + operands.map { operation($0.op, address, $0.members) })
            ]),
        closed(
            "Transaction", [("do", list("Operation"))], optional: [("if", list("Condition"))]),
        DescribedSchema(
            "Condition",
            [
                "oneOf": [
                    closed(address + [("revision", reference("Revision"))]),
                    closed(address + [("stored", ["type": "boolean"])]),
                    closed(address + [("value", reference("Value"))]),
                    closed([("suite", reference("SuiteName")), ("revision", reference("Revision"))]),
                ]
            ]),
        DescribedSchema(
            "JSONPatch", ["description": "The steps of RFC 6902.", "type": "array", "items": reference("PatchStep")]),
        DescribedSchema(
            "JSONPointer", ["description": "RFC 6901.", "type": "string", "pattern": "^(/([^/~]|~[01])*)*$"]),
        DescribedSchema(
            "PatchStep",
            [
                "oneOf": [
                    step(["add", "replace", "test"], ("value", reference("Value"))), step(["remove"]),
                    step(["move", "copy"], ("from", reference("JSONPointer"))),
                ]
            ]),
    ]
}
