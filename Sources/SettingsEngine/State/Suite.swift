package import SettingsAPI
package import SettingsModel

/// The schema of a suite (a named set of settings). The schema is compiled once, and all states share it: two states
/// have the same schema of a suite if and only if they refer to the same object.
package final class SchemaVersion: Sendable {
    package let schema: Schema
    /// The revision (the number) of the commit that set the schema.
    package let revision: Revision

    package init(_ schema: Schema, revision: Revision) {
        self.schema = schema
        self.revision = revision
    }
}

/// A suite: a named set of settings, with or without a schema.
///
/// A suite has a ``KeyRecord`` for each key with a value. A removed key that the schema lists keeps its record. Any
/// other removed key has a *tombstone* in ``RemovedKeys``: a record without a value, with the revision of the removal.
package struct Suite: TreeElement {
    package let id: SuiteName
    /// The schema; nil if the suite has no schema and therefore allows any key and any value.
    package private(set) var schema: SchemaVersion?
    /// The revision of the last commit that set or removed the schema; zero if the suite never had a schema.
    package private(set) var schemaRevision: Revision
    /// The revision of the last commit that created the suite, or changed its schema or a key.
    package var revision: Revision
    /// The records of all keys that have a value, and of all keys that the schema lists and that were ever written.
    package private(set) var records = OrderedTree<KeyRecord>()
    /// The tombstones of removed keys.
    package private(set) var removed: RemovedKeys
    /// The number of keys that the schema lists or that have a stored value, valid or not.
    package private(set) var keyCount = 0
    /// The number of keys with a stored value that the schema does not allow.
    package private(set) var invalidCount = 0
    /// The approximate number of bytes of memory that the suite takes, including its schema and its tombstones.
    package var size: Int { sizeWithoutTombstones + removed.size }
    private var sizeWithoutTombstones: Int

    package var name: String { id.text }

    /// Makes a suite without a schema and without keys.
    ///
    /// - Parameter unknownKeyRevision: the revision of a key without a record and without a tombstone.
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

// Methods that find records and values.
extension Suite {
    /// Visits the records in order until the body returns false.
    package func forEachRecord(_ body: (KeyRecord) -> Bool) { records.forEach(body) }

    /// Returns the record or the tombstone of a key. For any other key, returns a record without a value.
    package func record(_ key: KeyName) -> KeyRecord {
        knownRecord(key) ?? KeyRecord(unset: key, revision: removed.unknownKeyRevision)
    }

    /// Returns the record or the tombstone of a key; nil if the key was never written or its tombstone was discarded.
    func knownRecord(_ key: KeyName) -> KeyRecord? { records.find(key.text) ?? removed.find(key.text.utf8Span.span) }

    /// The estimated cost of rendering the whole suite. The estimate ends when it exceeds the limit.
    package func renderingCost(within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        addRenderingCost(to: &meter)
        return meter.cost
    }

    /// The estimated cost of rendering one record. The estimate ends when it exceeds the limit.
    package func renderingCost(of record: KeyRecord, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        addRenderingCost(of: record, to: &meter)
        return meter.cost
    }

    func addRenderingCost(to meter: inout CostMeter) {
        // A response lists the violations of the schema's rules about the suite as a whole. The state does not store
        // these violations, so a read checks the rules again.
        if schema?.schema.hasExpensiveSuiteRules ?? false { meter.add(.schemaRevalidation) }
        records.forEach { record in
            addRenderingCost(of: record, to: &meter)
            return !meter.isExceeded
        }
    }

    package func addRenderingCost(of record: KeyRecord, to meter: inout CostMeter) {
        // A unit is a JSON value, or eight bytes of text (see ``Cost``). The revision and the time count as four units,
        // and the name as one unit for each eight bytes.
        meter.add((4 + record.name.utf8.count / 8) * .renderedUnit)
        // The state does not store the violations of an invalid value, so a read validates the value again.
        if record.valueSource == .invalid { meter.add(.schemaRevalidation) }
        meter.add(record.stored, each: .renderedUnit)
    }

    /// Returns the value that readers get: the stored value, or the default of the schema.
    package func effectiveValue(of record: KeyRecord) -> JSONValue? {
        Self.effectiveValue(of: record.key, record.valueSource, record.stored, under: schema)
    }

    /// Returns the value that readers get, given the properties of a record. The record itself is not a parameter, so
    /// that code that borrows a record need not copy it.
    static func effectiveValue(
        of key: KeyName, _ valueSource: KeyRecord.ValueSource, _ stored: JSONValue?, under schema: SchemaVersion?
    ) -> JSONValue? {
        switch valueSource {
        case .stored: stored
        case .default: schema?.schema.key(key.text)?.defaultValue
        case .unset, .invalid: nil
        }
    }

    /// True if the schema lists the key by name. Such a key keeps its record even if it has no value.
    func lists(_ key: KeyName) -> Bool { schema?.schema.lists(key.text) ?? false }
}

// Methods that change the suite. Only `State.apply`, the reader of snapshots (files with a whole state), and the code
// of PastSuite.swift, which turns a copy of a suite into an earlier version, call these methods.
extension Suite {
    /// Stores the record of a key, as a tombstone if the record has no value and the schema does not list the key.
    mutating func put(_ record: KeyRecord) {
        let isListed = lists(record.key)
        if isListed || record.valueSource != .unset {
            removed.remove(record.key)
            sizeWithoutTombstones += record.size
            if record.valueSource == .invalid { invalidCount += 1 }
            if let replaced = records.set(record) {
                sizeWithoutTombstones -= replaced.size
                if replaced.valueSource == .invalid { invalidCount -= 1 }
            } else if !isListed {
                keyCount += 1
            }
        } else {
            if let replaced = records.remove(record.key.text.utf8Span.span) {
                sizeWithoutTombstones -= replaced.size
                if replaced.valueSource != .unset { keyCount -= 1 }
                if replaced.valueSource == .invalid { invalidCount -= 1 }
            }
            removed.add(record)
        }
    }

    /// Replaces or removes the schema. The records of keys that have no value and that the new schema does not list
    /// become tombstones.
    mutating func setSchema(_ schema: SchemaVersion?, revision: Revision) {
        if let current = self.schema?.schema { markSecrets(of: current) }
        sizeWithoutTombstones += (schema?.schema.memorySize ?? 0) - (self.schema?.schema.memorySize ?? 0)
        self.schema = schema
        schemaRevision = revision
        for record in records.elements where record.valueSource == .unset && !lists(record.key) {
            records.remove(record.name.utf8Span.span)
            sizeWithoutTombstones -= record.size
            removed.add(record)
        }
        updateCounts()
    }

    /// Sets `isSecret` in the records of the keys that a schema declares secret. Their values stay secret under later
    /// schemas.
    mutating func markSecrets(of schema: Schema) {
        guard schema.hasSecrets else { return }
        for var record in records.elements where record.stored != nil && !record.isSecret {
            guard schema.isSecret(record.name) else { continue }
            record.isSecret = true
            records.set(record)
        }
    }

    /// Makes a suite from the data of a snapshot.
    package init(
        _ id: SuiteName, revision: Revision, schema: SchemaVersion?, schemaRevision: Revision,
        records: OrderedTree<KeyRecord>, removed: RemovedKeys
    ) {
        self.init(id, revision: revision, unknownKeyRevision: removed.unknownKeyRevision)
        self.schema = schema
        self.schemaRevision = schemaRevision
        self.records = records
        self.removed = removed
        updateCounts()
        sizeWithoutTombstones += schema?.schema.memorySize ?? 0
        records.forEach { record in
            sizeWithoutTombstones += record.size
            return true
        }
    }

    private mutating func updateCounts() {
        var (keys, invalid) = (schema?.schema.keys.count ?? 0, 0)
        records.forEach { record in
            if !lists(record.key) { keys += 1 }
            if record.valueSource == .invalid { invalid += 1 }
            return true
        }
        (keyCount, invalidCount) = (keys, invalid)
    }
}
