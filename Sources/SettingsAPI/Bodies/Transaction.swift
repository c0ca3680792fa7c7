public import SettingsModel

/// Several operations on keys of one or several suites that are done together or not at all.
public struct Transaction: Hashable, Sendable {
    /// What has to hold for any of it to be done.
    public var conditions: [Condition]
    /// What is done, in this order, each seeing what the one before did.
    public var operations: [Operation]

    /// A transaction.
    public init(if conditions: [Condition] = [], do operations: [Operation]) {
        self.conditions = conditions
        self.operations = operations
    }
}

extension Transaction: JSONReadable, JSONWritable {
    /// Reads a request; a member that transactions do not have is an error. Only `if` may be left out.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["if", "do"])
        self.init(if: try reader.list("if"), do: try reader.required("do"))
    }

    /// Writes the request.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("if", unlessEmpty: conditions)
        writer.member("do", operations)
        writer.endObject()
    }
}
