package import SettingsAPI
package import SettingsModel

/// The values that a read of a suite (a named set of settings) returns: the query parameter `view`.
package enum SuiteView: String, CaseIterable, Sendable {
    /// For each key, the stored value or, without a stored value, the default of the schema.
    case effective
    /// The stored values only.
    case stored
    /// The defaults of the schema, also for keys with a stored value.
    case `default`
}

extension Suite {
    /// The contents of the suite for a response: the values of a view, for keys that begin with a prefix, in order.
    package func contents(view: SuiteView = .effective, prefix: String = "") -> SuiteContents {
        var contents = SuiteContents(suite: id, schemaRevision: schemaRevision, values: [])
        if view == .default {
            contents.values = defaults(prefix: prefix)
            return contents
        }
        contents.values.reserveCapacity(prefix.isEmpty ? records.count : 0)
        records.forEach(startingAt: prefix) { record in
            guard record.name.hasBytePrefix(prefix) else { return false }
            append(record, view, to: &contents)
            return true
        }
        contents.violations = violations { prefix.isEmpty || $0?.hasBytePrefix(prefix) ?? false }
        return contents
    }

    /// The contents of the suite for a response, with the effective values of the keys that a filter admits.
    package func contents(passing filter: KeyFilter) -> SuiteContents {
        if filter.isEverything { return contents() }
        if filter.keys.isEmpty, filter.prefixes.count == 1 { return contents(prefix: filter.prefixes[0].string) }
        var admitted = filter.keys.compactMap { records.find($0.text) }
        for prefix in filter.prefixes {
            records.forEach(startingAt: prefix.string) { record in
                guard record.name.hasBytePrefix(prefix.string) else { return false }
                admitted.append(record)
                return true
            }
        }
        admitted = admitted.ordered { $0.key < $1.key }
        var contents = SuiteContents(suite: id, schemaRevision: schemaRevision, values: [])
        var previous: KeyName?
        // `admitted` has a key twice if the filter contains the key and also a prefix of the key.
        for record in admitted where record.key != previous {
            append(record, .effective, to: &contents)
            previous = record.key
        }
        contents.violations = violations { name in
            name.flatMap { try? KeyName($0) }.map(filter.admits) ?? false
        }
        return contents
    }

    /// The violations of schema rules about the suite as a whole. `isIncluded` gets the key of a violation; nil if the
    /// violation does not concern a single key.
    private func violations(where isIncluded: (String?) -> Bool) -> [Violation] {
        guard let schema = schema?.schema, schema.hasSuiteRules else { return [] }
        let keys = schema.suiteRuleKeys
        let effective = schema.effectiveValues(stored: storedValues(of: keys), of: keys)
        return schema.suiteViolations(of: effective, secrets: markedSecrets(of: keys))
            .filter { isIncluded($0.key) }.map { $0.located(inSuite: id) }
    }

    /// Appends the value that a view shows for a record, if the view shows a value. A record has the stored value of a
    /// key (if there is one), the source of the value, and the last change. If the schema does not allow the stored
    /// value, appends the violations and, unless the key is secret, the value to `contents.invalid`.
    private func append(_ record: KeyRecord, _ view: SuiteView, to contents: inout SuiteContents) {
        switch record.valueSource {
        case .stored:
            if let value = record.stored {
                contents.values.append(SuiteContents.Entry(key: record.key, value: value))
            }
        case .default:
            if view == .effective, let value = effectiveValue(of: record) {
                contents.values.append(SuiteContents.Entry(key: record.key, value: value))
            }
        case .invalid:
            contents.invalid.append(
                SchemaConflict(
                    key: record.key, stored: isSecret(record) ? nil : record.stored,
                    errors: violations(ofStoredValueIn: record)))
        case .unset: break
        }
    }

    private func defaults(prefix: String) -> [SuiteContents.Entry] {
        (schema?.schema.keys ?? []).compactMap { listed in
            // The name of a key in a compiled schema is always valid.
            guard listed.name.hasBytePrefix(prefix), let value = listed.defaultValue,
                let key = try? KeyName(listed.name)
            else { return nil }
            return SuiteContents.Entry(key: key, value: value)
        }
    }

    /// One page of the list of keys, and whether more pages follow. The list has, in order, every key with a stored
    /// value and every key that the schema lists. The page begins after the name `after`; nil for the first page.
    package func keys(
        prefix: String, after: String?, limit: Int, where isShown: (KeyName) -> Bool = { _ in true }
    ) -> (records: [KeyRecord], hasMore: Bool) {
        var found: [KeyRecord] = []
        var listed = listedKeysWithoutRecord(prefix: prefix, after: after).filter(isShown)[...]
        let start = after.map { prefix.precedesInBytes($0) ? $0 : prefix } ?? prefix
        records.forEach(startingAt: start) { record in
            guard record.name.hasBytePrefix(prefix) else { return false }
            if let after, !after.precedesInBytes(record.name) { return true }
            while found.count <= limit, let next = listed.first, next < record.key {
                found.append(self.record(next))
                listed.removeFirst()
            }
            if record.valueSource != .unset || lists(record.key), isShown(record.key) { found.append(record) }
            return found.count <= limit
        }
        while found.count <= limit, let next = listed.popFirst() { found.append(record(next)) }
        let hasMore = found.count > limit
        return (hasMore ? Array(found.prefix(limit)) : found, hasMore)
    }

    /// The keys that the schema lists and that have no record, in order.
    private func listedKeysWithoutRecord(prefix: String, after: String?) -> [KeyName] {
        (schema?.schema.keys ?? []).compactMap { listed in
            guard listed.name.hasBytePrefix(prefix), let key = try? KeyName(listed.name) else { return nil }
            if let after, !after.precedesInBytes(listed.name) { return nil }
            return records.find(listed.name) == nil ? key : nil
        }
    }
}
