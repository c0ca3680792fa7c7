internal import SettingsAPI
internal import SettingsModel

extension WriteDraft {
    /// A key that a write names or changes, with the value that the key gets. `KeyDraft` is a class, so that several
    /// operations on one key change the same object.
    final class KeyDraft {
        /// The suite (named set of settings) that contains the key.
        let suite: SuiteName
        /// True if the suite does not exist before the write.
        let isInNewSuite: Bool
        /// True if the schema of the suite has rules about the suite as a whole, such as `minProperties`.
        let isUnderSuiteRules: Bool
        /// The record of the key before the write: its stored value, and the revision (the number) and the time of the
        /// commit that last changed the key.
        let before: KeyRecord
        /// The effective value before the write: the stored value, otherwise the default of the schema.
        let valueBefore: JSONValue?
        /// The schema of the key; nil if the suite has no schema, or a schema that does not admit the key.
        let schema: KeySchema?
        /// True if the key is a secret that the caller may not read. Then a write of a value always counts as a change,
        /// because the answer that nothing changed would reveal that the new value equals the secret.
        let isHidden: Bool
        /// The stored value after the operations so far; nil for none.
        var stored: JSONValue?
        /// True if ``stored`` is a secret, or was computed from a secret.
        var isStoredSecret: Bool
        /// True if an operation of the write has set, removed or changed the value.
        var isWritten = false
        /// The location of the value in the request body. Errors about the value point to this location.
        var pointer = JSONPointer.root
        /// True if ``stored`` was validated before the write was queued. ``WriteDraft/check()`` then skips the value.
        var isChecked = false
        /// True if the schema of the suite does not admit the key. ``WriteDraft/check()`` then refuses the write.
        var isUnknown = false
        /// The value of ``differsFromBefore`` after all operations. The value is stored, because a comparison of long
        /// values takes time.
        var isDifferent = false

        init(
            _ before: KeyRecord, in suite: SuiteName, isInNewSuite: Bool, under suiteSchema: SchemaVersion?,
            schema: KeySchema?, isHidden: Bool
        ) {
            self.suite = suite
            self.isInNewSuite = isInNewSuite
            isUnderSuiteRules = suiteSchema?.schema.hasSuiteRules ?? false
            valueBefore = Suite.effectiveValue(of: before.key, before.valueSource, before.stored, under: suiteSchema)
            self.isHidden = isHidden
            stored = before.stored
            isStoredSecret = before.isSecret
            self.before = before
            self.schema = schema
        }

        var key: KeyName { before.key }
        /// True if the schema makes the key a secret, or if the value before the write is a secret.
        var isSecret: Bool { schema?.isSecret ?? false || before.isSecret }

        /// The effective value after the operations so far, which the next operation sees.
        var value: JSONValue? {
            guard isWritten else { return valueBefore }
            return stored ?? schema?.defaultValue
        }

        /// The source of the value after the operations so far. If no operation has written the key, it is the source
        /// before the write. Otherwise it is stored, default, or unset.
        var valueSource: KeyRecord.ValueSource {
            guard isWritten else { return before.valueSource }
            return stored != nil ? .stored : schema?.defaultValue != nil ? .default : .unset
        }

        /// True if the write changes the stored value or the source of the value, or stores a value and ``isHidden`` is
        /// true.
        var differsFromBefore: Bool {
            guard isWritten else { return false }
            if isHidden, stored != nil { return true }
            return valueSource != before.valueSource || stored != before.stored
        }
    }
}

extension WriteDraft.KeyDraft {
    func change(revision: Revision, time: Timestamp, by origin: CommitOrigin?) -> Change {
        Change(
            suite: suite, key: key, old: valueBefore, new: value, oldSource: before.valueSource.source,
            source: valueSource.source, revision: revision, modified: time, isSecret: isSecret, origin: origin,
            record: Change.Record(before: before, isSecret: isStoredSecret))
    }

    /// The setting in the answer to a dry run, or to a write that changes nothing: the value after the write, with the
    /// revision before the write.
    var setting: SettingState {
        var setting = SettingState(
            suite: suite, key: key, value: isDifferent ? value : valueBefore, source: valueSource.source,
            revision: before.revision, modified: before.changeTime)
        setting.origin = before.origin
        setting.isSecret = isSecret
        setting.changed = isDifferent
        setting.previous = SettingState.Previous(
            value: valueBefore, source: before.valueSource.source, revision: before.revision)
        return setting
    }
}
