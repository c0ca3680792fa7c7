package import SettingsAPI
package import SettingsModel

/// The schema of a suite, compiled once and shared by all states. Two states have the same schema of a suite if and only if they
/// refer to the same object.
package final class SchemaVersion: Sendable {
    package let schema: Schema
    /// The commit that set the schema.
    package let revision: Revision

    package init(_ schema: Schema, revision: Revision) {
        self.schema = schema
        self.revision = revision
    }
}

/// A suite with its schema and its keys.
package struct Suite: TreeElement {
    package let id: SuiteName
    /// The schema; nil if the suite is open to any key.
    package private(set) var schema: SchemaVersion?
    /// The last commit that set or removed the schema; zero if the suite never had a schema.
    package private(set) var schemaRevision: Revision
    /// The last commit that changed the suite or its schema.
    package var revision: Revision
    /// The records of all keys that have a value, and of all keys that the schema lists and that were ever written.
    package private(set) var records = OrderedTree<KeyRecord>()
    /// The revisions of removed keys.
    package private(set) var removed: RemovedKeys
    /// The number of keys that have a value, valid or not, or that the schema lists.
    package private(set) var keyCount = 0
    /// The approximate number of bytes of memory that the suite takes, including its schema and its tombstones.
    package var size: Int { sizeWithoutTombstones + removed.size }
    private var sizeWithoutTombstones: Int

    package var name: String { id.text }

    /// Makes an open suite without keys.
    ///
    /// - Parameter unknownKeyRevision: the revision of keys that were never written.
    package init(
        _ id: SuiteName, revision: Revision, schemaRevision: Revision = .zero, unknownKeyRevision: Revision
    ) {
        self.id = id
        self.revision = revision
        self.schemaRevision = schemaRevision
        removed = RemovedKeys(unknownKeyRevision: unknownKeyRevision)
        sizeWithoutTombstones = MemorySize.suite(id)
    }
}

// Lookups.
extension Suite {
    /// Visits the records in order until the body returns false.
    package func forEachRecord(_ body: (KeyRecord) -> Bool) {
        records.forEach(body)
    }

    /// Returns the record of a key, its tombstone, or the record that every unknown key has.
    package func record(_ key: KeyName) -> KeyRecord {
        knownRecord(key) ?? KeyRecord(unset: key, revision: removed.unknownKeyRevision)
    }

    /// Returns the record of a key or its tombstone; nil if the key was never written or the suite lost its tombstone.
    func knownRecord(_ key: KeyName) -> KeyRecord? {
        records.find(key.text) ?? removed.find(key.text.utf8Span.span)
    }

    /// The cost of rendering the whole suite.
    package func renderingCost(within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        addRenderingCost(to: &meter)
        return meter.cost
    }

    /// The cost of rendering one record.
    package func renderingCost(of record: KeyRecord, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        addRenderingCost(of: record, to: &meter)
        return meter.cost
    }

    func addRenderingCost(to meter: inout CostMeter) {
        if schema?.schema.hasExpensiveSuiteRules ?? false { meter.add(.schemaRevalidation) }
        records.forEach { record in
            addRenderingCost(of: record, to: &meter)
            return !meter.isExceeded
        }
    }

    package func addRenderingCost(of record: KeyRecord, to meter: inout CostMeter) {
        // The record has a revision and a time beside its name and its value.
        meter.add((4 + record.name.utf8.count / 8) * .renderedUnit)
        // The violations of an invalid value are not stored.
        if record.standing == .invalid { meter.add(.schemaRevalidation) }
        meter.add(record.stored, each: .renderedUnit)
    }

    /// Returns the value that readers get.
    package func effectiveValue(of record: KeyRecord) -> JSONValue? {
        Self.effectiveValue(of: record.key, record.standing, record.stored, under: schema)
    }

    /// Returns the value that readers get of a key.
    ///
    /// The parameters are the parts of a record, because a caller that borrows a record can pass them without a copy of it.
    static func effectiveValue(
        of key: KeyName, _ standing: KeyRecord.Standing, _ stored: JSONValue?, under schema: SchemaVersion?
    ) -> JSONValue? {
        switch standing {
        case .stored: stored
        case .default: schema?.schema.key(key.text)?.defaultValue
        case .unset, .invalid: nil
        }
    }

    /// True if the schema lists the key by name. The suite then keeps the record of the key even if the key has no value.
    func lists(_ key: KeyName) -> Bool {
        schema?.schema.lists(key.text) ?? false
    }
}

// Changes. Only `State.apply`, the reader of snapshots and reads of the past make them.
extension Suite {
    /// Replaces the record of a key.
    mutating func put(_ record: KeyRecord) {
        let isListed = lists(record.key)
        if isListed || record.standing != .unset {
            removed.remove(record.key)
            sizeWithoutTombstones += record.size
            if let replaced = records.set(record) {
                sizeWithoutTombstones -= replaced.size
            } else if !isListed {
                keyCount += 1
            }
        } else {
            if let replaced = records.remove(record.key.text.utf8Span.span) {
                sizeWithoutTombstones -= replaced.size
                if replaced.standing != .unset { keyCount -= 1 }
            }
            removed.add(record)
        }
    }

    /// Replaces or removes the schema. Keys without a value that the new schema does not list become tombstones.
    mutating func setSchema(_ schema: SchemaVersion?, revision: Revision) {
        if let current = self.schema?.schema { markSecrets(of: current) }
        sizeWithoutTombstones += (schema?.schema.memorySize ?? 0) - (self.schema?.schema.memorySize ?? 0)
        self.schema = schema
        schemaRevision = revision
        for record in records.elements where record.standing == .unset && !lists(record.key) {
            records.remove(record.name.utf8Span.span)
            sizeWithoutTombstones -= record.size
            removed.add(record)
        }
        updateKeyCount()
    }

    /// Marks the stored values of a schema's secret keys, so that the values stay secret after the schema is replaced.
    mutating func markSecrets(of schema: Schema) {
        guard schema.hasSecrets else { return }
        for var record in records.elements where record.stored != nil && !record.isSecret {
            guard schema.isSecret(record.name) else { continue }
            record.isSecret = true
            records.set(record)
        }
    }

    /// Makes the suite of a snapshot.
    package init(
        _ id: SuiteName, revision: Revision, schema: SchemaVersion?, schemaRevision: Revision,
        records: OrderedTree<KeyRecord>, removed: RemovedKeys
    ) {
        self.init(id, revision: revision, unknownKeyRevision: removed.unknownKeyRevision)
        self.schema = schema
        self.schemaRevision = schemaRevision
        self.records = records
        self.removed = removed
        updateKeyCount()
        sizeWithoutTombstones += schema?.schema.memorySize ?? 0
        records.forEach { record in
            sizeWithoutTombstones += record.size
            return true
        }
    }

    private mutating func updateKeyCount() {
        var count = schema?.schema.keys.count ?? 0
        records.forEach { record in
            if !lists(record.key) { count += 1 }
            return true
        }
        keyCount = count
    }
}
