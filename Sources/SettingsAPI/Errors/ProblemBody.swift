public import SettingsModel

extension Problem: JSONWritable {
    /// Writes the body of `application/problem+json`; what the problem does not say is left out.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", "about:blank" as String)
        writer.member("status", Int64(status))
        writer.member("title", title)
        writer.member("code", codeName)
        writer.member("detail", detail)
        writer.member("errors", unlessEmpty: errors)
        if !didYouMean.isEmpty { writer.member("didYouMean", didYouMean.map(JSONValue.string)) }
        writer.member("line", line)
        writer.member("column", column)
        writer.member("pointer", pointer)
        writer.member("conflicts", unlessEmpty: conflicts)
        writer.member("stored", stored)
        writer.member("oldest", oldest)
        writer.member("current", current)
        writer.member("failed", unlessEmpty: failed)
        writer.member("limit", limit)
        writer.member("outcome", outcome?.rawValue)
        if !allow.isEmpty { writer.member("allow", allow.map(JSONValue.string)) }
        writer.member("retryAfterMs", retryAfterMs)
        writer.endObject()
    }
}

extension Problem {
    /// Understands as much as it can of an error's answer, whoever made it.
    ///
    /// Never fails: what is missing or of another kind is left out, without a code the title is the status. The status
    /// of the answer counts, not the one in the body.
    public init(status: Int, body: JSONValue?) {
        let members = body?.object ?? JSONObject()
        let codeName = members["code"]?.string ?? ""
        let code = ErrorCode(rawValue: codeName)
        let title = members["title"]?.string ?? code?.title ?? "HTTP status \(status)"
        self.init(status: status, codeName: codeName, title: title, detail: members["detail"]?.string ?? title)
        errors = Self.list(members["errors"], Violation.init(json:))
        didYouMean = Self.list(members["didYouMean"], BodyValue.string)
        line = members["line"]?.integer
        column = members["column"]?.integer
        pointer = members["pointer"]?.string.flatMap { JSONPointer($0) }
        conflicts = Self.list(members["conflicts"], SchemaConflict.init(json:))
        stored = members["stored"]
        oldest = members["oldest"]?.integer.flatMap { Revision($0) }
        current = members["current"].flatMap { try? Current(json: $0) }
        failed = Self.list(members["failed"], FailedCondition.init(json:))
        limit = members["limit"]?.integer
        // A word that is not known here is no promise that nothing was done.
        outcome = members["outcome"]?.string.map { Outcome(rawValue: $0) ?? .unknown }
        allow = Self.list(members["allow"], BodyValue.string)
        retryAfterMs = members["retryAfterMs"]?.integer
    }

    /// The elements that can be read. Whoever was told of an error must get it, whatever else came with it.
    private static func list<Element>(
        _ json: JSONValue?, _ read: (JSONValue) throws(BodyError) -> Element
    ) -> [Element] {
        (json?.array ?? []).compactMap { try? read($0) }
    }
}

extension Problem.Current: JSONReadable, JSONWritable {
    /// Reads a setting, or a suite with its revision where no key is named.
    public init(json: JSONValue) throws(BodyError) {
        if json["key"] == nil {
            self = .suite(try SuiteRevision(json: json))
        } else {
            self = .setting(try SettingState(json: json))
        }
    }

    /// Writes the setting or the suite; of a secret, not the value.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .setting(let setting): setting.toldInErrors.write(to: &writer)
        case .suite(let suite): suite.write(to: &writer)
        }
    }
}

extension Problem.FailedCondition: JSONReadable, JSONWritable {
    /// Reads one entry of `failed`.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(index: try reader.required("index"), current: try reader.required("current"))
    }

    /// Writes one entry of `failed`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("index", index)
        writer.member("current", current)
        writer.endObject()
    }
}
