package import SettingsAPI
package import SettingsModel

// Methods that find settings and suites (named sets of settings) by the bytes of their names.
extension State {
    /// Finds the record (the stored value and its revision) of a key, given the names of the suite and the key as
    /// bytes.
    ///
    /// The calling code holds the lock that every reader of the published state needs, so this method must be fast.
    package func find(_ suite: Span<UInt8>, _ key: Span<UInt8>) -> FoundSetting? {
        // The closures capture the cursor and not the state, because a closure that captures the state copies it.
        let cursor = cursor
        let found = suites.with(suite) { suite in
            suite.records.find(key).map { record in
                FoundSetting(suite: suite.id, record: record, cursor: cursor, schema: suite.schema)
            }
        }
        guard hasPendingActions, var setting = found ?? nil else { return found ?? nil }
        setting.pendingRevert = pending.revert(of: setting.record.revision)
        return setting
    }

    /// Finds a suite by the bytes of its name.
    package func suite(_ name: Span<UInt8>) -> Suite? { suites.find(name) }
}

// The description for operators.
extension State {
    /// A description of the state in one line, for operators.
    package var summary: String {
        var settings = 0
        suites.forEach { suite in
            settings += suite.keyCount
            return true
        }
        return "epoch \(epoch), revision \(revision), suites: \(suites.count), settings: \(settings), "
            + "commits kept: \(history.count)" + (hasPendingActions ? ", pending actions: \(pending.count)" : "")
    }
}

// Readers for watchers and for earlier states.
extension State {
    /// A reader of this state for watchers, which are clients that wait for changes.
    package var watchReader: WatchReader { WatchReader(self) }

    /// A reader of earlier states, as far back as the commits in memory (``history``) reach.
    package var recentPast: RecentPast { RecentPast(self) }

    /// True if a write is an undo or a restore that may need past files, which have the commits that the history
    /// evicted (removed from memory).
    package func mayNeedPastFiles(for command: WriteCommand?) -> Bool {
        switch command {
        case .undo(let undo, of: let name, onConflict: _):
            history.commit(undo.revision) == nil || name.map { undo.revision <= oldestAvailable(of: $0) } ?? false
        case .restore(let name, let restore, skipsConflicts: _):
            switch restore.moment {
            case .revision(let revision): revision < oldestAvailable(of: name)
            case .instant: true
            }
        default: false
        }
    }
}

// Data and errors as a caller may see them. `restrictedGrants` is the grants (rights) of a caller that may not read
// everything. It is nil if the caller may read everything, including secrets.
extension State {
    /// Returns the state with an epoch (the name of its history) that ends in the digest of the caller's grants, for
    /// the cursors in a response. A cursor that a client got with other grants then belongs to another epoch, so the
    /// client reads the state again. The result still contains all data. Do not use the result to decide writes or to
    /// write a file.
    package func withGrantsDigest(of restrictedGrants: Grants?) -> State {
        guard let restrictedGrants else { return self }
        return with(digest: restrictedGrants.digest)
    }

    /// Returns the changes of the keys that a caller may read, without the values of secrets that the caller may not
    /// read.
    package func shown(_ changes: [Change], to restrictedGrants: Grants?) -> [Change] {
        let marked = markingSecrets(changes)
        guard let restrictedGrants else { return marked }
        return marked.compactMap { change in
            guard restrictedGrants.canRead(change.suite, change.key) else { return nil }
            return change.isSecret && !restrictedGrants.canReadSecret(change.suite, change.key)
                ? change.concealed() : change
        }
    }

    /// The names of the readable suites that are most similar to the name of a suite that does not exist.
    ///
    /// The search visits a limited number of names. It visits only names with a prefix under which the caller may read
    /// every suite, so that the result reveals nothing about other suites.
    func suggestions(for suite: String, to restrictedGrants: Grants?) -> [String] {
        // `nearest` requests the names next to `suite`. If there are very many suites, it also requests the names next
        // to likely corrections of `suite`, which may begin with another prefix.
        NameSuggestion.nearest(to: suite) { requested, count in
            guard let prefix = restrictedGrants.map({ $0.shortestReadablePrefix(of: requested) }) ?? "" else {
                return []
            }
            let names = suites.neighbours(of: requested, count) { $0.hasBytePrefix(prefix) }
            // A read of an earlier revision needs the filter: the suite may exist in this state, although it did not
            // exist at that revision.
            return names.filter { !$0.hasSameBytes(as: suite) }
        }
    }

    /// Returns changes, and marks the changes of keys that the current schema declares secret.
    package func markingSecrets(_ changes: [Change]) -> [Change] {
        var changes = changes
        for index in changes.indices where !changes[index].isSecret {
            let (suite, key) = (changes[index].suite, changes[index].key)
            let isSecret = suites.with(suite.text.utf8Span.span) { suite in
                suite.schema?.schema.hasSecrets ?? false && suite.isSecret(key)
            }
            if isSecret ?? false { changes[index].isSecret = true }
        }
        return changes
    }

    /// The setting of a key. If the suite does not exist, returns a setting without a value, with the revision of the
    /// last commit that dropped (deleted) a suite: see ``lastDropRevision``.
    package func setting(_ suite: SuiteName, _ key: KeyName) -> SettingState {
        if let found = self.suite(suite) { return found.setting(key) }
        return SettingState(
            suite: suite, key: key, value: nil, source: .unset, revision: lastDropRevision, modified: nil)
    }

    /// The setting of a key for the body of an error response, which never contains the value of a secret.
    package func current(_ suite: SuiteName, _ key: KeyName) -> Problem.Current {
        .setting(setting(suite, key).shownInErrors)
    }

    /// The error for a suite that does not exist, with suggestions.
    ///
    /// - Parameter refusesCreation: true if the error refuses a write that would create the suite without a schema,
    ///   which the configuration of the daemon does not allow.
    package func unknownSuite(_ suite: SuiteName, for restrictedGrants: Grants?, refusesCreation: Bool = false)
        -> Problem
    {
        let nearest = suggestions(for: suite.text, to: restrictedGrants)
        let remedy =
            refusesCreation
            ? "; this daemon creates a suite only with a schema, so PUT the schema first" : Self.hint(nearest)
        var problem = Problem(.unknownSuite, "there is no suite \(suite)" + remedy)
        problem.didYouMean = nearest
        return problem
    }

    /// A suggestion to append to an error message; empty if there are no names.
    static func hint(_ names: [String]) -> String { names.first.map { "; did you mean \($0)?" } ?? "" }
}
