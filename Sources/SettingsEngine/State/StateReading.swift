package import SettingsAPI
package import SettingsModel

// Lookups by the bytes of names.
extension State {
    /// Finds the record of a key by the bytes of the names.
    ///
    /// The caller holds the lock of the published state, so this method does nothing else.
    package func find(_ suite: Span<UInt8>, _ key: Span<UInt8>) -> FoundSetting? {
        // The closures capture the cursor and not the state, because a copy of the state costs six retains.
        let cursor = cursor
        let found = suites.with(suite) { suite in
            suite.records.find(key).map { record in
                FoundSetting(suite: suite.id, record: record, cursor: cursor, schema: suite.schema)
            }
        }
        return found ?? nil
    }

    /// Finds a suite by the bytes of its name.
    package func suite(_ name: Span<UInt8>) -> Suite? {
        suites.find(name)
    }
}

// Operators.
extension State {
    /// A description of the state in one line, for operators.
    package var summary: String {
        var settings = 0
        suites.forEach { suite in
            settings += suite.keyCount
            return true
        }
        return "epoch \(epoch), revision \(revision), suites: \(suites.count), settings: \(settings), "
            + "commits kept: \(history.count)"
    }
}

// Watchers and the past.
extension State {
    /// A reader of this state for watchers.
    package var watchReader: WatchReader { WatchReader(self) }

    /// The past of this state, as far back as ``history`` reaches.
    package var recentPast: RecentPast { RecentPast(self) }

    /// True if a write may need a part of the past that is not in memory.
    package func lacksPast(for command: WriteRequest.Command) -> Bool {
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

// The views of readers and the errors that callers see.
extension State {
    /// Returns the state with cursors for a reader: the epoch ends in the digest of the reader's grants. The state
    /// hides no data. A cursor obtained with other grants belongs to another epoch, so the reader starts again. Never
    /// pass the result to the writer or to a file.
    package func withCursors(for reader: Grants?) -> State {
        guard let reader else { return self }
        return with(digest: reader.digest)
    }

    /// Returns changes as a reader sees them: of the keys that it may read, and without the values of secrets that it may not.
    package func shown(_ changes: [Change], to reader: Grants?) -> [Change] {
        let marked = markingSecrets(changes)
        guard let reader else { return marked }
        return marked.compactMap { change in
            guard reader.canRead(change.suite, change.key) else { return nil }
            return change.isSecret && !reader.canReadSecret(change.suite, change.key) ? change.concealed() : change
        }
    }

    /// The names of suites nearest to one that is not there, of those that a reader may see.
    ///
    /// They are looked for among neighbours that begin with what the reader may see all of, so that no hidden suite takes the
    /// place of another.
    func suggestions(for suite: String, to reader: Grants?) -> [String] {
        NameSuggestion.nearest(to: suite) { place, count in
            guard let start = reader.map({ $0.shortestReadablePrefix(of: place) }) ?? "" else { return [] }
            let names = suites.neighbours(of: place, count) { $0.hasBytePrefix(start) }
            // One that is there now may not have been when the question was about.
            return names.filter { !$0.hasSameBytes(as: suite) }
        }
    }

    /// Returns changes with those marked whose keys have become secrets since.
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

    /// The setting of a key, also of a suite that does not exist.
    package func setting(_ suite: SuiteName, _ key: KeyName) -> SettingState {
        if let found = self.suite(suite) { return found.setting(key) }
        return SettingState(suite: suite, key: key, value: nil, source: .unset, revision: lastDrop, modified: nil)
    }

    /// The setting of a key as an error shows it: without the value of a secret.
    package func current(_ suite: SuiteName, _ key: KeyName) -> Problem.Current {
        .setting(setting(suite, key).shownInErrors)
    }

    /// The error for a suite that does not exist, with suggestions.
    ///
    /// - Parameter isClosed: true if a write was to create it, which is turned off here.
    package func unknownSuite(_ suite: SuiteName, for reader: Grants?, isClosed: Bool = false) -> Problem {
        let nearest = suggestions(for: suite.text, to: reader)
        let remedy = isClosed ? "; here a suite begins with its schema: PUT that first" : Self.hint(nearest)
        var problem = Problem(.unknownSuite, "there is no suite \(suite)" + remedy)
        problem.didYouMean = nearest
        return problem
    }

    static func hint(_ names: [String]) -> String {
        names.first.map { "; did you mean \($0)?" } ?? ""
    }
}
