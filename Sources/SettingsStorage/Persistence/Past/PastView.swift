package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// Reads the past of suites (named sets of settings): older states and commits. It combines the history in memory with
/// past files: files with older commits, which the history evicted.
///
/// A past file has the commits of a suite in *fragments*. Most fragments also have a *base*: the state of the suite
/// after their last commit. `oldestAvailable` of a history or suite is the oldest revision whose state can be computed
/// without files. The methods may read files, so event loops do not call them.
package struct PastView: PastReading {
    /// The state whose past is read. It has the history in memory.
    let state: State
    private let pastFiles: PastFiles
    /// The past files, oldest first. They reach without a gap up to the history in memory.
    private let files: [PastFile]
    /// True if there are past files, but the history has evicted commits that are newer than the newest file. The view
    /// then uses no file.
    private let lacksEvictedCommits: Bool

    /// The approximate maximum number of commits that one page of a history reads from files.
    private static let maximumSearchedCommits = 16_384
    /// In the limit ``maximumSearchedCommits``, opening a file counts as reading this number of commits.
    private static let searchCostOfFile = 64

    /// Makes a view of the past of a state. The files may contain commits after the state, which the view ignores.
    package init(_ pastFiles: PastFiles, _ state: State) {
        self.pastFiles = pastFiles
        self.state = state
        let files = pastFiles.list
        lacksEvictedCommits = files.last.map { $0.to < state.history.oldestAvailable } ?? false
        self.files = lacksEvictedCommits ? [] : files
    }

    /// The oldest revision at which the state of a suite can be read. All later commits of the suite are available.
    private func oldest(of suite: SuiteName) -> Revision {
        let oldestInMemory = state.oldestAvailable(of: suite)
        return files.first.map { min(oldestInMemory, $0.from) } ?? oldestInMemory
    }

    /// Returns the error for commits or a state that are no longer available, or that are unavailable until the next
    /// past file is written.
    private func historyGone(_ subject: String, _ suite: SuiteName) -> Problem {
        lacksEvictedCommits ? .pastFileInProgress : Problem(historyGone: subject, oldest: oldest(of: suite))
    }

    // MARK: Revisions

    /// Returns the revision at a moment (a revision or an instant). Throws if the moment is in the future, or if the
    /// state of the suite at the moment is no longer available.
    package func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision {
        switch moment {
        case .revision(let revision):
            guard revision < state.oldestAvailable(of: suite) else {
                return try state.recentPast.revision(at: moment, of: suite)
            }
            guard revision >= oldest(of: suite) else { throw historyGone("revision \(revision)", suite) }
            return revision
        case .instant(let instant):
            if let revision = try lastCommit(notAfter: instant) { return revision }
            do throws(Problem) {
                return try state.recentPast.revision(at: moment, of: suite)
            } catch {
                guard error.code == .historyGone else { throw error }
                throw historyGone("the state at \(instant)", suite)
            }
        }
    }

    /// Finds the last commit in the files whose time is not after an instant; nil if the calling code must search the
    /// history in memory instead.
    private func lastCommit(notAfter instant: Timestamp) throws(Problem) -> Revision? {
        guard instant < state.time, let oldest = files.first else { return nil }
        if let last = state.recentPast.lastKnownRevision(notAfter: instant), last >= state.history.oldestAvailable {
            return nil
        }
        for file in files.reversed() {
            let last = try withReader(of: file) { reader throws(RecoveryError) in try reader.last(notAfter: instant) }
            if let last { return min(last, state.revision) }
        }
        // Every commit in the files is later than the instant. Revision zero is before the first commit.
        if oldest.from == .zero { return .zero }
        return oldest.fromTime.flatMap { $0 <= instant ? oldest.from : nil }
    }

    // MARK: Suites

    /// Returns the state of a suite after a commit; nil if the suite did not exist then.
    package func suite(_ name: SuiteName, at revision: Revision) throws(Problem) -> Suite? {
        guard revision < state.oldestAvailable(of: name), let end = files.last?.to else {
            return try state.recentPast.suite(name, at: revision)
        }
        guard revision >= oldest(of: name) else { throw historyGone("revision \(revision)", name) }
        var commits: [RetainedCommit] = []
        for file in files where file.to > revision {
            // `nil`: the file has no base after the revision. `.some(nil)`: the suite did not exist at the base.
            let base = try withReader(of: file) { reader throws(RecoveryError) -> Suite?? in
                for fragment in try reader.fragments(of: name) where fragment.last > revision {
                    let (fragmentCommits, base) = try reader.read(fragment)
                    commits += fragmentCommits
                    if fragment.hasBase { return .some(base) }
                }
                return nil
            }
            if let base { return suite(name, at: revision, from: base, commits) }
        }
        commits.removeAll { $0.revision > state.revision }
        commits += state.history.commits(affecting: name, after: end)
        return suite(name, at: revision, from: state.suite(name), commits)
    }

    /// Returns the state of a suite at a revision, by undoing later commits. `commits` has at least all commits of the
    /// suite after the revision up to `base`; `base` is the state of the suite after the last of `commits`.
    private func suite(_ name: SuiteName, at revision: Revision, from base: Suite?, _ commits: [RetainedCommit])
        -> Suite?
    {
        // The origin of a commit is its caller and note. A setting has the origin of the commit that set its value.
        let origins = Dictionary(
            commits.map { ($0.revision, $0.commit.origin) }, uniquingKeysWith: { first, _ in first })
        return state.recentPast.suite(
            name, at: revision, from: base, undoing: commits.filter { $0.revision > revision },
            lastBefore: commits.last { $0.revision <= revision }?.revision
        ) { origins[$0] ?? state.history.origin(of: $0) }
    }

    // MARK: Commits

    /// Returns a page of the commits that changed a suite, the newest first. Throws if the suite is unknown.
    ///
    /// The number of commits that a page reads from files is limited. The next page continues where this page ends.
    package func history(_ historyQuery: HistoryQuery) throws(Problem) -> SuiteHistory {
        let suite = historyQuery.suite
        var page = HistoryPage(historyQuery)
        var isKnown = state.hasSuite(suite) || state.history.hasCommits(of: suite)
        var isFull = false
        let start = historyQuery.endRevision(in: state)
        state.history.forEachReversed(of: suite, before: start) { retained in
            isFull = !page.add(retained, withSecretsOf: state)
            return !isFull
        }
        var end = min(start, state.oldestAvailable(of: suite).advanced(by: 1) ?? start)
        // Add commits before `end` that are not in a file yet. The history still has these commits only because they
        // are among the newest commits of another suite: a suite protects its newest commits (see `History`).
        if let newest = files.last, !isFull {
            let unwritten = state.history.commits(affecting: suite, after: newest.to).filter { $0.revision < end }
            isFull = !unwritten.reversed().allSatisfy { page.add($0, withSecretsOf: state) }
        }
        var searched = 0
        for file in files.reversed() where !isFull && file.from < end {
            guard searched < Self.maximumSearchedCommits else {
                page.end(before: end)
                break
            }
            searched += Self.searchCostOfFile
            let fragments = try withReader(of: file) { reader throws(RecoveryError) in try reader.fragments(of: suite) }
            isKnown = isKnown || !fragments.isEmpty
            for fragment in fragments.reversed() where !isFull && fragment.first < end {
                guard searched < Self.maximumSearchedCommits else {
                    page.end(before: end)
                    isFull = true
                    break
                }
                let commits = try withReader(of: file) { reader throws(RecoveryError) in
                    try reader.read(fragment).commits
                }
                isFull = !commits.reversed().allSatisfy { $0.revision >= end || page.add($0, withSecretsOf: state) }
                searched += commits.count
                end = fragment.first
            }
            if searched < Self.maximumSearchedCommits { end = min(end, file.from.advanced(by: 1) ?? end) }
        }
        guard isKnown || page.next != nil else { throw state.unknownSuite(suite, for: historyQuery.restrictedGrants) }
        return page.result(oldest: oldest(of: suite))
    }

    /// Returns dropped suites of which commits are kept, each with the revision of its last commit. Reads the index of
    /// each file from the first name of the page on. Takes from each file at most one suite more than fits on the page.
    package func droppedSuites(_ query: SuiteListQuery) throws(Problem) -> [SuiteName: Revision] {
        var dropped = state.recentPast.droppedSuites(query)
        for file in files {
            let found = try withReader(of: file) { reader throws(RecoveryError) in
                var found: [SuiteName: Revision] = [:]
                try reader.forEachFragment(startingAt: query.start) { fragment in
                    let name = fragment.suite.text
                    guard found.count <= query.limit else { return false }
                    guard name.hasBytePrefix(query.prefix) else { return name.precedesInBytes(query.prefix) }
                    // The file may have commits after the state.
                    if fragment.first <= state.revision, query.admits(fragment.suite), !state.hasSuite(fragment.suite) {
                        found[fragment.suite] = fragment.last
                    }
                    return true
                }
                return found
            }
            dropped.merge(found) { max($0, $1) }
        }
        return dropped
    }

    /// Returns the net changes of a suite between two moments. `from` may be later than `to`. `grants` are the grants
    /// of a caller that may not read everything; nil if the caller may read everything.
    package func difference(
        of name: SuiteName, from: Moment, to: Moment, for grants: Grants?
    ) throws(Problem) -> SuiteDifference {
        let (start, end) = (try revision(at: from, of: name), try revision(at: to, of: name))
        guard min(start, end) < state.oldestAvailable(of: name) else {
            return try state.recentPast.difference(
                of: name, from: .revision(start), to: .revision(end), for: grants)
        }
        let (before, after) = (try suite(name, at: start), try suite(name, at: end))
        guard before != nil || after != nil || state.hasSuite(name) || state.history.hasCommits(of: name) else {
            throw state.unknownSuite(name, for: grants)
        }
        return state.recentPast.difference(of: name, from: before, to: after, at: end, keys: nil, for: grants)
    }

    /// Finds a commit in memory or in a file; nil if no available commit has this revision.
    private func commit(_ revision: Revision) throws(Problem) -> RetainedCommit? {
        if let retained = state.history.commit(revision) { return retained }
        guard let file = files.last(where: { $0.from < revision }), revision <= file.to else { return nil }
        return try withReader(of: file) { reader throws(RecoveryError) in
            guard let suite = try reader.entry(of: revision)?.suite else { return nil }
            let fragments = try reader.fragments(of: suite)
            guard let fragment = fragments.first(where: { $0.last >= revision }) else { return nil }
            return try reader.read(fragment).commits.first { $0.revision == revision }
        }
    }

    /// Calls a function with a reader of a file. If the file is damaged, stops using this file and all older files.
    private func withReader<Result>(
        of file: PastFile, _ body: (PastReader) throws(RecoveryError) -> Result
    ) throws(Problem) -> Result {
        do throws(RecoveryError) {
            return try body(try PastReader(file, in: pastFiles.directory))
        } catch {
            // A file that is no longer in use was removed in the meantime: its commits have expired, or it is damaged.
            // For such a file, `removeDamaged` does nothing.
            if pastFiles.contains(file), error.kind == .inaccessible {
                throw Problem(.storageFailed, "cannot read the history: \(error.reason)")
            }
            pastFiles.removeDamaged(file, because: error)
            throw Problem(historyGone: "the state before revision \(file.to)", oldest: file.to)
        }
    }
}

/// Preparation of writes that depend on the past: an undo of a commit, and a restore of an older state.
extension PastView {
    /// The maximum number of later commits that the preparation of an undo looks up. Each look-up may read a file. If
    /// there are more later commits, a refusal of the undo does not list all later changes.
    private static let maximumLaterCommits = 64

    /// Reads from files the commits or the suite that an undo or a restore needs, and sets `request.pastFileData`.
    /// Throws if the data is unavailable.
    package func readPast(for request: inout WriteRequest) throws(Problem) {
        switch request.command {
        case .undo(let undo, of: let name, onConflict: _):
            guard state.mayNeedPastFiles(for: request.command) else { return }
            let oldest = name.map { self.oldest(of: $0) } ?? files.first?.from ?? state.history.oldestAvailable
            guard undo.revision > oldest else {
                throw lacksEvictedCommits
                    ? .pastFileInProgress : Problem(historyGone: "commit \(undo.revision)", oldest: oldest)
            }
            guard let commit = try self.commit(undo.revision) else {
                guard let newest = files.last, undo.revision <= newest.to else { return }
                throw Problem(.badRequest, "revision \(undo.revision) changed nothing")
            }
            request.pastFileData = WriteRequest.PastFileData(commit: commit, later: try laterCommits(than: commit))
        case .restore(let name, let restore, skipsConflicts: _):
            let revision = try self.revision(at: restore.moment, of: name)
            guard revision < state.oldestAvailable(of: name) else { return }
            guard let suite = try self.suite(name, at: revision) else {
                throw state.recentPast.unknownSuite(name, for: request.restrictedGrants, at: revision)
            }
            request.pastFileData = WriteRequest.PastFileData(suite: suite)
        default: break
        }
    }

    /// Returns later commits that changed the same settings or suites as `retained` and that are not in memory. A
    /// refusal of the undo lists the changes of these commits. The revision of a setting shows that the setting was
    /// changed again. For a dropped suite that does not exist now, only these commits show later changes.
    private func laterCommits(than retained: RetainedCommit) throws(Problem) -> [RetainedCommit] {
        let commit = retained.commit
        var revisions: Set<Revision> = []
        for change in commit.changes {
            guard let revision = state.suite(change.suite)?.record(change.key).revision else { continue }
            if revision > commit.revision, revisions.count < Self.maximumLaterCommits { revisions.insert(revision) }
        }
        var later: [RetainedCommit] = []
        for revision in revisions.sorted() where state.history.commit(revision) == nil {
            if let commit = try self.commit(revision) { later.append(commit) }
        }
        // If `retained` dropped the suite and the suite does not exist now, any later commit of the suite shows that
        // the suite was created again in between.
        for change in commit.suiteChanges where !state.hasSuite(change.suite) {
            for file in files where file.to > commit.revision {
                let next = try withReader(of: file) { reader throws(RecoveryError) -> RetainedCommit? in
                    for fragment in try reader.fragments(of: change.suite) where fragment.last > commit.revision {
                        return try reader.read(fragment).commits.first { $0.revision > commit.revision }
                    }
                    return nil
                }
                if let next {
                    later.append(next)
                    break
                }
            }
        }
        return later
    }
}

extension Problem {
    /// The error if commits were evicted from memory and are not in a past file yet.
    fileprivate static var pastFileInProgress: Problem {
        Problem(
            .overloaded, retryAfterMs: 1000, "old commits are being moved from memory to a file; try again in a second")
    }
}
