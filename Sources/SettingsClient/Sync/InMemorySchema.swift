internal import SettingsAPI
internal import SettingsModel

/// Schemas that come while there is something in the suite.
extension InMemorySuite {
    /// Says what the suite may hold from here on; the document in force again changes nothing.
    mutating func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey, at time: Timestamp
    ) throws(Problem) -> WriteSummary {
        if let summary = try replay(.schema(document), requestKey) { return summary }
        let summary = try setSchema(document, onConflict: policy, at: time)
        keep(summary, of: .schema(document), for: requestKey)
        return summary
    }

    private mutating func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, at time: Timestamp
    ) throws(Problem) -> WriteSummary {
        if schema?.document == document {
            return WriteSummary(
                revision: cursor.revision, changed: false, changes: [], schemaRevision: schemaRevision)
        }
        let new: Schema
        do {
            new = try Schema(document)
        } catch {
            throw Problem(.invalidSchema, error.description)
        }
        let stored = storedSettings
        let conflicts = new.conflicts(storing: stored)
        if policy == .refuse, !stored.isEmpty, !conflicts.isEmpty { throw conflict(conflicts) }
        var removed: [KeyName: JSONValue?] = [:]
        if policy == .reset {
            for key in conflicts.keys.compactMap(\.key) { removed[key] = .some(nil) }
            let kept = stored.filter { removed[$0.key] == nil }
            let rest = new.conflicts(storing: kept)
            if !kept.isEmpty, !rest.isEmpty { throw conflict(rest) }
        }

        let before = self
        keepSecrets()
        schema = new
        hasLeftovers = policy == .keep && !conflicts.isEmpty
        let revision = cursor.revision.advanced(by: 1) ?? cursor.revision
        let changes = keys(listedIn: [before.schema, new]).compactMap { key -> Change? in
            let value = records[key]?.stored
            let (old, oldSource) = before.effective(key, value)
            let (new, source) = effective(key, removed[key] ?? value)
            guard old != new || oldSource != source else { return nil }
            return Change(
                suite: name, key: key, old: old, new: new, oldSource: oldSource, source: source,
                revision: revision, modified: time, isSecret: before.isSecret(key) || isSecret(key))
        }
        schemaRevision = revision
        commit(changes, stored: removed, at: revision, time)
        return WriteSummary(revision: revision, changed: true, changes: changes, schemaRevision: revision)
    }

    /// Every key that is stored or that a schema lists.
    private func keys(listedIn schemas: [Schema?]) -> [KeyName] {
        let listed = schemas.flatMap { $0?.keys ?? [] }.compactMap { try? KeyName($0.name) }
        return Set(listed).union(records.keys).sorted()
    }

    private func conflict(_ conflicts: StoredConflicts) -> Problem {
        let reason = conflicts.all.first?.errors.first?.sentence ?? ""
        var problem = Problem(.schemaConflict, "what suite \(name) stores does not fit the schema: \(reason)")
        problem.conflicts = conflicts.all
        problem.errors = conflicts.suite
        return problem
    }

    /// Whether a stored value is one that the schema in force found and does not allow.
    func isLeftover(_ key: KeyName, _ value: JSONValue) -> Bool {
        guard hasLeftovers, let schema else { return false }
        return !(schema.key(key.text)?.allows(value) ?? false)
    }

    /// The stored values that do not fit, with the reasons.
    func leftovers(among keys: Set<KeyName>) -> [SchemaConflict] {
        guard hasLeftovers, let schema else { return [] }
        return keys.sorted().compactMap { key in
            records[key]?.stored.flatMap { value in
                schema.conflict(of: StoredSetting(key: key, value: value, isSecret: isSecret(key)))
            }
        }
    }

    /// What the effective values together break of the rules of the schema in force.
    var violations: [Violation] {
        guard let schema, schema.hasSuiteRules else { return [] }
        var values = JSONObject()
        for setting in storedSettings { values[setting.key.text] = setting.value }
        let secrets = storedSettings.filter(\.isSecret).map(\.key)
        return schema.suiteViolations(of: schema.effectiveValues(stored: values), secrets: secrets)
    }

    private var storedSettings: [StoredSetting] {
        records.sorted { $0.key < $1.key }.compactMap { key, record in
            record.stored.map { StoredSetting(key: key, value: $0, isSecret: isSecret(key)) }
        }
    }
}
