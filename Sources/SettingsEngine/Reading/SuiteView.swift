package import SettingsAPI
package import SettingsModel

/// A choice of the values of a suite to show.
package enum SuiteView: String, CaseIterable, Sendable {
    /// Stored values, and defaults where nothing is stored.
    case effective
    case stored
    /// The defaults of the schema, whatever is stored.
    case `default`
}

extension Suite {
    /// The suite as it is shown: the values of a view, in order, of keys that begin with a prefix.
    package func contents(view: SuiteView = .effective, prefix: String = "") -> SuiteContents {
        var contents = SuiteContents(suite: id, schemaRevision: schemaRevision, values: [])
        if view == .default {
            contents.values = defaults(prefix: prefix)
            return contents
        }
        contents.values.reserveCapacity(prefix.isEmpty ? records.count : 0)
        records.forEach(startingAt: prefix) { record in
            guard record.name.hasBytePrefix(prefix) else { return false }
            show(record, view, in: &contents)
            return true
        }
        contents.violations = violations { prefix.isEmpty || $0?.hasBytePrefix(prefix) ?? false }
        return contents
    }

    /// The suite as readers get it, as far as a filter lets it pass.
    package func contents(passing filter: KeyFilter) -> SuiteContents {
        if filter.isEverything { return contents() }
        if filter.keys.isEmpty, filter.prefixes.count == 1 { return contents(prefix: filter.prefixes[0].string) }
        var shown = filter.keys.compactMap { records.find($0.text) }
        for prefix in filter.prefixes {
            records.forEach(startingAt: prefix.string) { record in
                guard record.name.hasBytePrefix(prefix.string) else { return false }
                shown.append(record)
                return true
            }
        }
        shown = shown.ordered { $0.key < $1.key }
        var contents = SuiteContents(suite: id, schemaRevision: schemaRevision, values: [])
        var last: KeyName?
        // A key that is named may begin with one of the prefixes, too.
        for record in shown where record.key != last {
            show(record, .effective, in: &contents)
            last = record.key
        }
        contents.violations = violations { name in
            name.flatMap { try? KeyName($0) }.map(filter.admits) ?? false
        }
        return contents
    }

    /// The violations of rules about the suite as a whole, of the keys that are meant, or of none (nil).
    private func violations(where isMeant: (String?) -> Bool) -> [Violation] {
        guard let schema = schema?.schema, schema.hasSuiteRules else { return [] }
        let keys = schema.suiteRuleKeys
        let effective = schema.effectiveValues(stored: storedValues(of: keys), of: keys)
        return schema.suiteViolations(of: effective, secrets: markedSecrets(of: keys)).filter { isMeant($0.key) }.map {
            $0.inSuite(id, under: .root)
        }
    }

    /// Adds a key as a view has it: its value, or why it has none that counts.
    private func show(_ record: KeyRecord, _ view: SuiteView, in contents: inout SuiteContents) {
        switch record.standing {
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
                    key: record.key, stored: isSecret(record) ? nil : record.stored, errors: violations(ofStoredValueIn: record))
            )
        case .unset: break
        }
    }

    private func defaults(prefix: String) -> [SuiteContents.Entry] {
        (schema?.schema.keys ?? []).compactMap { listed in
            // The schema was compiled: its keys are names.
            guard listed.name.hasBytePrefix(prefix), let value = listed.defaultValue,
                let key = try? KeyName(listed.name)
            else { return nil }
            return SuiteContents.Entry(key: key, value: value)
        }
    }

    /// Every key with a value, valid or not, and every key that the schema lists, in order: a page of those.
    ///
    /// - Returns: the keys, and whether there are more.
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
            if record.standing != .unset || lists(record.key), isShown(record.key) { found.append(record) }
            return found.count <= limit
        }
        while found.count <= limit, let next = listed.popFirst() { found.append(record(next)) }
        let hasMore = found.count > limit
        return (hasMore ? Array(found.prefix(limit)) : found, hasMore)
    }

    /// Keys that the schema lists and of which nothing is held, in order.
    private func listedKeysWithoutRecord(prefix: String, after: String?) -> [KeyName] {
        (schema?.schema.keys ?? []).compactMap { listed in
            guard listed.name.hasBytePrefix(prefix), let key = try? KeyName(listed.name) else { return nil }
            if let after, !after.precedesInBytes(listed.name) { return nil }
            return records.find(listed.name) == nil ? key : nil
        }
    }
}
