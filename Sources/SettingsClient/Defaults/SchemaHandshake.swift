internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// What was found when a key was compared with the schema in force.
struct KeyAgreement: Sendable {
    var schema: SchemaPlace?
    var differences: [SchemaDifference] = []
}

/// Whether the program's keys and the server's schema say the same. Each key is compared before its first read, and
/// again when the schema is another.
extension AdapterCore {
    /// What a key and the schema disagree on. What is found is reported, once.
    ///
    /// While the schema cannot be had, nothing is known: the values that are known here are read all the same.
    func differences<Value>(of slot: Slot<Value>) -> [SchemaDifference] {
        if let known = knownDifferences(of: slot) { return known }
        guard let place = session.schema else { return [] }
        do {
            return try session.serverSchema(at: place).map { differences(of: slot, $0.schema, at: place) } ?? []
        } catch {
            report(error, nil, .check)
            return []
        }
    }

    /// The same without asking anybody; nil if somebody has to be asked first.
    func knownDifferences<Value>(of slot: Slot<Value>) -> [SchemaDifference]? {
        guard let place = session.schema else { return [] }
        if let known = slot.agreement.withLock({ $0.schema == place ? $0.differences : nil }) { return known }
        let server = session.knownSchema
        if server.holds(at: place) { return differences(of: slot, server.schema, at: place) }
        return session.isPaused ? [] : nil
    }

    private func differences<Value>(of slot: Slot<Value>, _ schema: Schema?, at place: SchemaPlace)
        -> [SchemaDifference]
    {
        // Writing the key's default as JSON may run code of the program's, so nothing is locked. A key whose default
        // has no JSON is reported as one that cannot be used.
        let differences = (try? schema?.differences(from: slot.key)) ?? []
        slot.agreement.withLock { $0 = KeyAgreement(schema: place, differences: differences) }
        let name = UTF8Text(slot.key.name)
        let isNews = toldDifferences.withLock { told in
            defer { told[name] = differences.isEmpty ? nil : differences }
            return !differences.isEmpty && told[name] != differences
        }
        if isNews { report(.disagreement(differences), slot.key.name, .check) }
        return differences
    }

    /// Throws if no value that the server may hold is one of the key's type.
    func refuseAnotherType<Value>(_ slot: Slot<Value>) throws(DefaultsError) {
        try refuseAnotherType(differences(of: slot))
    }

    /// Throws if these are such that no value that the server may hold is one of the key's type.
    func refuseAnotherType(_ differences: [SchemaDifference]) throws(DefaultsError) {
        let differences = differences.filter { $0.aspect == .type }
        if !differences.isEmpty { throw .disagreement(differences) }
    }

    /// Has the schema ready, so that comparing keys does not wait for it.
    func prepareSchema() {
        guard let place = session.schema else { return }
        _ = try? session.serverSchema(at: place)
    }
}
