public import SettingsModel

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
