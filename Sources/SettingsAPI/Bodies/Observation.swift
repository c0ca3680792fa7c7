public import SettingsModel

/// The answer to observing: the state, or what changed.
public enum SettingsObservation: Hashable, Sendable {
    /// The state, as the first answer or because the observer has to begin anew.
    case state(ObservedState)
    /// What changed since the cursor that was sent.
    case changes(ObservedChanges)

    /// The place in history to go on from.
    public var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .changes(let changes): changes.cursor
        }
    }
}

extension SettingsObservation: JSONReadable, JSONWritable {
    /// Reads an answer: what has values is a state.
    public init(json: JSONValue) throws(BodyError) {
        if json["values"] == nil {
            self = .changes(try ObservedChanges(json: json))
        } else {
            self = .state(try ObservedState(json: json))
        }
    }

    /// Writes the one or the other.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .state(let state): state.write(to: &writer)
        case .changes(let changes): changes.write(to: &writer)
        }
    }
}

/// All that an observer watches, at one place in history: how observing begins, and how it begins anew.
public struct ObservedState: Hashable, Sendable {
    /// What is observed.
    public enum Scope: Hashable, Sendable {
        /// One suite.
        case one(SuiteContents)
        /// Several suites, ordered by name, and the names of those that do not exist.
        case several([SuiteContents], missing: [SuiteName])
    }

    /// What is observed, as far as it matches.
    public var scope: Scope
    /// The place in history.
    public var cursor: Cursor
    /// Whether this is in place of changes, because history does not reach back to where the observer was.
    public var isReset: Bool

    /// A state.
    public init(_ scope: Scope, cursor: Cursor, isReset: Bool = false) {
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

extension ObservedState: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            reader.has("suite") ? .one(try SuiteContents(reader)) : try Self.several(reader),
            cursor: try reader.required("cursor"), isReset: try reader.flag("reset"))
    }

    /// Writes the state with an empty list of changes, so that a client may always go through those.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if case .one(let contents) = scope { writer.member("suite", contents.suite) }
        writer.member("revision", cursor.revision)
        writer.member("cursor", cursor)
        switch scope {
        case .one(let contents):
            writer.member("schemaRevision", contents.schemaRevision)
            contents.writeMembers(to: &writer)
        case .several(let suites, let missing):
            Self.write(suites, missing, to: &writer)
        }
        writer.flag("reset", isReset)
        writer.name("changes")
        writer.beginArray()
        writer.endArray()
        writer.endObject()
    }
}

/// The form for several suites: as for one, but by suite.
extension ObservedState {
    private static func several(_ reader: ObjectReader) throws(BodyError) -> Scope {
        let schemas = try reader.optional("schemaRevision", SuiteRevision.map) ?? []
        let schemaRevisions = Dictionary(
            schemas.map { ($0.suite, $0.revision) }, uniquingKeysWith: { first, _ in first })
        var suites = try reader.required("values") { json throws(BodyError) in
            try BodyValue.map(json) { member throws(BodyError) in
                let suite = try SuiteName(json: .string(member.name))
                return SuiteContents(
                    suite: suite, schemaRevision: schemaRevisions[suite] ?? .zero,
                    values: try SuiteContents.entries(member.value))
            }
        }
        let invalid = try reader.optional("invalid", BodyValue.object) ?? [:]
        let secrets = try reader.optional("secrets", BodyValue.object) ?? [:]
        let violations = try reader.optional("violations", BodyValue.object) ?? [:]
        let (conflictReader, secretReader) = (try ObjectReader(.object(invalid)), try ObjectReader(.object(secrets)))
        let violationReader = try ObjectReader(.object(violations))
        for index in suites.indices {
            let name = suites[index].suite.text
            do {
                suites[index].invalid = try conflictReader.optional(name, SuiteContents.conflicts) ?? []
            } catch {
                throw error.under("invalid")
            }
            do {
                suites[index].secrets = try secretReader.list(name)
            } catch {
                throw error.under("secrets")
            }
            do {
                suites[index].violations = try violationReader.list(name)
            } catch {
                throw error.under("violations")
            }
        }
        return .several(suites, missing: try reader.list("missing"))
    }

    private static func write(_ suites: [SuiteContents], _ missing: [SuiteName], to writer: inout JSONWriter) {
        let schemas = suites.map { SuiteRevision(suite: $0.suite, revision: $0.schemaRevision) }
        writer.member("schemaRevision", mapOf: schemas)
        writer.name("values")
        writer.beginObject()
        for contents in suites {
            writer.name(contents.suite.text)
            contents.writeValues(to: &writer)
        }
        writer.endObject()
        if suites.contains(where: { !$0.invalid.isEmpty }) {
            writer.name("invalid")
            writer.beginObject()
            for contents in suites where !contents.invalid.isEmpty {
                writer.name(contents.suite.text)
                contents.writeInvalid(to: &writer)
            }
            writer.endObject()
        }
        if suites.contains(where: { !$0.secrets.isEmpty }) {
            writer.name("secrets")
            writer.beginObject()
            for contents in suites { writer.member(contents.suite.text, unlessEmpty: contents.secrets) }
            writer.endObject()
        }
        if suites.contains(where: { !$0.violations.isEmpty }) {
            writer.name("violations")
            writer.beginObject()
            for contents in suites { writer.member(contents.suite.text, unlessEmpty: contents.violations) }
            writer.endObject()
        }
        writer.member("missing", unlessEmpty: missing)
    }
}

/// What happened to what an observer watches since it last heard: none, one or several commits.
public struct ObservedChanges: Hashable, Sendable {
    /// What is observed.
    public enum Scope: Hashable, Sendable {
        /// One suite with the revision of its schema, and whether it was dropped.
        case one(schema: SuiteRevision, isDropped: Bool)
        /// Several suites with the revisions of their schemas, ordered by name; which were dropped; and which of the
        /// names asked for do not exist.
        case several(schemas: [SuiteRevision], dropped: [SuiteName], missing: [SuiteName])
    }

    /// What is observed.
    public var scope: Scope
    /// The place in history to go on from.
    public var cursor: Cursor
    /// The changes in order of their revisions.
    public var changes: [Change]
    /// Whether there were more changes than asked for: ask again from the cursor at once.
    public var hasMore: Bool
    /// When to come back, in milliseconds, where the daemon is going down.
    public var retryAfterMs: Int64?

    /// An answer.
    public init(
        _ scope: Scope, cursor: Cursor, changes: [Change], hasMore: Bool = false, retryAfterMs: Int64? = nil
    ) {
        self.scope = scope
        self.cursor = cursor
        self.changes = changes
        self.hasMore = hasMore
        self.retryAfterMs = retryAfterMs
    }
}

extension ObservedChanges: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
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
            scope, cursor: try reader.required("cursor"),
            changes: try reader.required("changes") { json throws(BodyError) in
                try Change.list(json, ofSuite: suite)
            },
            hasMore: try reader.flag("more"), retryAfterMs: try reader.optional("retryAfterMs"))
    }

    /// Writes the answer; changes of one suite do not repeat its name.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch scope {
        case .one(let schema, let isDropped):
            writer.member("suite", schema.suite)
            writer.member("revision", cursor.revision)
            writer.member("cursor", cursor)
            writer.member("schemaRevision", schema.revision)
            writer.flag("dropped", isDropped)
            writer.member("changes", changes, as: .ofOneSuite)
        case .several(let schemas, let dropped, let missing):
            writer.member("revision", cursor.revision)
            writer.member("cursor", cursor)
            writer.member("schemaRevision", mapOf: schemas)
            writer.member("dropped", unlessEmpty: dropped)
            writer.member("missing", unlessEmpty: missing)
            writer.member("changes", changes, as: .ofSeveralSuites)
        }
        writer.flag("more", hasMore)
        writer.member("retryAfterMs", retryAfterMs)
        writer.endObject()
    }
}

extension Change {
    /// Changes of one suite, or of several where each names its own.
    static func list(_ json: JSONValue, ofSuite suite: SuiteName?) throws(BodyError) -> [Change] {
        try BodyValue.list(json) { json throws(BodyError) in
            if let suite { try Change(json: json, ofSuite: suite) } else { try Change(json: json) }
        }
    }
}
