public import SettingsModel

/// The answer to a request that watches: the state, or the changes after the given cursor.
public enum SettingsObservation: Equatable, Sendable {
    /// The state. It is the first answer, or it replaces changes that are not available.
    case state(ObservedState)
    /// The changes after the given cursor.
    case changes(ObservedChanges)

    /// The cursor for the next request.
    public var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .changes(let changes): changes.cursor
        }
    }
}

extension SettingsObservation: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        // Only a state has the member `values`.
        if json["values"] == nil {
            self = .changes(try ObservedChanges(json: json))
        } else {
            self = .state(try ObservedState(json: json))
        }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .state(let state): state.write(to: &writer)
        case .changes(let changes): changes.write(to: &writer)
        }
    }
}

/// The state of everything that a watcher watches, at one cursor.
public struct ObservedState: Equatable, Sendable {
    /// The watched suites.
    public enum Scope: Equatable, Sendable {
        /// One suite.
        case one(SuiteContents)
        /// Several suites, ordered by name, and the names of suites that do not exist.
        case several([SuiteContents], missing: [SuiteName])
    }

    /// The watched parts of the suites.
    public var scope: Scope
    /// The cursor of the state.
    public var cursor: Cursor
    /// True if the state replaces changes that are not available.
    public var isReset: Bool

    package init(_ scope: Scope, cursor: Cursor, isReset: Bool = false) {
        self.scope = scope
        self.cursor = cursor
        self.isReset = isReset
    }

    /// The suites that exist.
    public var suites: [SuiteContents] {
        switch scope {
        case .one(let suite): [suite]
        case .several(let suites, _): suites
        }
    }
}

extension ObservedState: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            reader.has("suite") ? .one(try SuiteContents(reader)) : try Self.several(reader),
            cursor: try reader.required("cursor"), isReset: try reader.flag("reset"))
    }

    /// Also writes an empty list of changes, so that a client needs no check before it reads the changes.
    package func writeMembers(to writer: inout JSONWriter) {
        if case .one(let contents) = scope { writer.member("suite", contents.suite) }
        writer.members(revisionAndCursor: cursor)
        switch scope {
        case .one(let contents):
            writer.member("schemaRevision", contents.schemaRevision)
            contents.writeMembers(to: &writer)
        case .several(let suites, let missing):
            Self.write(suites, to: &writer)
            writer.member("missing", unlessEmpty: missing)
        }
        writer.flag("reset", isReset)
        writer.member("changes", [], as: .ofOneSuite)
    }

    /// Reads the form for several suites. `values`, `schemaRevision`, `invalid`, `secrets` and `violations` are maps
    /// from the names of the suites to the member of the form for one suite. `missing` is a list of names.
    private static func several(_ reader: ObjectReader) throws(BodyError) -> Scope {
        var suites: [SuiteContents] = try reader.required("values") { json throws(BodyError) in
            try json.map { member throws(BodyError) in
                SuiteContents(
                    suite: try SuiteName(json: .string(member.name)), schemaRevision: .zero,
                    values: try SuiteContents.entries(member.value))
            }
        }
        func readMap<Part>(
            _ member: String, to part: WritableKeyPath<SuiteContents, Part>,
            _ read: (JSONValue) throws(BodyError) -> Part
        ) throws(BodyError) {
            try reader.optional(member) { json throws(BodyError) in
                let bySuite = try ObjectReader(json)
                for index in suites.indices {
                    guard let value = try bySuite.optional(suites[index].suite.text, read) else { continue }
                    suites[index][keyPath: part] = value
                }
            }
        }
        try readMap("schemaRevision", to: \.schemaRevision, Revision.init(json:))
        try readMap("invalid", to: \.invalid, SuiteContents.conflicts)
        try readMap("secrets", to: \.secrets, [KeyName].init(json:))
        try readMap("violations", to: \.violations, [Violation].init(json:))
        return .several(suites, missing: try reader.list("missing"))
    }

    private static func write(_ suites: [SuiteContents], to writer: inout JSONWriter) {
        writer.member(
            "schemaRevision", mapOf: suites.map { SuiteRevision(suite: $0.suite, revision: $0.schemaRevision) })
        write("values", of: suites, to: &writer) { $0.writeValues(to: &$1) }
        write("invalid", of: suites.filter { !$0.invalid.isEmpty }, to: &writer) { $0.writeInvalid(to: &$1) }
        write("secrets", of: suites.filter { !$0.secrets.isEmpty }, to: &writer) { $0.secrets.write(to: &$1) }
        write("violations", of: suites.filter { !$0.violations.isEmpty }, to: &writer) { $0.violations.write(to: &$1) }
    }

    /// Writes a map from the names of the suites to one of their members. Omits an empty map, except the map of values.
    private static func write(
        _ member: String, of suites: [SuiteContents], to writer: inout JSONWriter,
        _ write: (SuiteContents, inout JSONWriter) -> Void
    ) {
        if suites.isEmpty && member != "values" { return }
        writer.name(member)
        writer.beginObject()
        for contents in suites {
            writer.name(contents.suite.text)
            write(contents, &writer)
        }
        writer.endObject()
    }
}

/// The changes after the cursor of a watcher, from any number of commits.
public struct ObservedChanges: Equatable, Sendable {
    /// The watched suites.
    public enum Scope: Equatable, Sendable {
        /// One suite, with the revision of its schema. `isDropped` is true if a commit of the changes dropped (deleted)
        /// the suite.
        case one(schema: SuiteRevision, isDropped: Bool)
        /// Several suites with the revisions of their schemas, ordered by name; the suites that a commit of the changes
        /// dropped; and the suites that do not exist at present.
        case several(schemas: [SuiteRevision], dropped: [SuiteName], missing: [SuiteName])
    }

    /// The watched suites.
    public var scope: Scope
    /// The cursor for the next request.
    public var cursor: Cursor
    /// The changes in the order of their revisions.
    public var changes: [Change]
    /// True if more changes exist than the limit of the request allows. The client should repeat the request with the
    /// new cursor at once.
    public var hasMore: Bool
    /// The milliseconds after which the client should repeat the request; nil unless the daemon is stopping.
    public var retryAfterMs: Int64?

    package init(
        _ scope: Scope, cursor: Cursor, changes: [Change], hasMore: Bool = false, retryAfterMs: Int64? = nil
    ) {
        self.scope = scope
        self.cursor = cursor
        self.changes = changes
        self.hasMore = hasMore
        self.retryAfterMs = retryAfterMs
    }
}

extension ObservedChanges: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let suite: SuiteName? = try reader.optional("suite")
        let scope: Scope
        if let suite {
            let schema = SuiteRevision(suite: suite, revision: try reader.required("schemaRevision"))
            scope = .one(schema: schema, isDropped: try reader.flag("dropped"))
        } else {
            scope = .several(
                schemas: try reader.optional("schemaRevision", SuiteRevision.map) ?? [],
                dropped: try reader.list("dropped"), missing: try reader.list("missing"))
        }
        self.init(
            scope, cursor: try reader.required("cursor"), changes: try reader.changes(ofSuite: suite),
            hasMore: try reader.flag("more"), retryAfterMs: try reader.optional("retryAfterMs"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch scope {
        case .one(let schema, let isDropped):
            writer.member("suite", schema.suite)
            writer.members(revisionAndCursor: cursor)
            writer.member("schemaRevision", schema.revision)
            writer.flag("dropped", isDropped)
            writer.member("changes", changes, as: .ofOneSuite)
        case .several(let schemas, let dropped, let missing):
            writer.members(revisionAndCursor: cursor)
            writer.member("schemaRevision", mapOf: schemas)
            writer.member("dropped", unlessEmpty: dropped)
            writer.member("missing", unlessEmpty: missing)
            writer.member("changes", changes, as: .ofSeveralSuites)
        }
        writer.flag("more", hasMore)
        writer.member("retryAfterMs", retryAfterMs)
    }
}

extension ObjectReader {
    /// Reads the changes of one suite. If `suite` is nil, each change names its suite.
    func changes(ofSuite suite: SuiteName?) throws(BodyError) -> [Change] {
        try required("changes") { json throws(BodyError) in
            try json.list { json throws(BodyError) in
                if let suite { try Change(json: json, ofSuite: suite) } else { try Change(json: json) }
            }
        }
    }
}
