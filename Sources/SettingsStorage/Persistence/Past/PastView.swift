package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// A view of the past: what memory has of it, and what past files have from before that.
///
/// What is not in memory is read from files, so not on a loop.
package struct PastView: PastReading {
    /// The state that the answer is true at.
    let state: State
    private let past: PastFiles
    /// Oldest first. They lead up to what memory has.
    private let files: [PastFile]
    /// True if commits that left the memory are still on their way to a file.
    private let isBehind: Bool

    /// About the commits that a page looks at in files, and for how many of them a file counts.
    private static let mostSearched = 16_384
    private static let costOfFile = 64

    /// A view of a state. Files may have been written since, which then have commits beyond it.
    package init(_ past: PastFiles, _ state: State) {
        self.past = past
        self.state = state
        let files = past.list
        isBehind = files.last.map { $0.to < state.history.oldestAvailable } ?? false
        self.files = isBehind ? [] : files
    }

    /// How far back a suite is known: the commits after this one.
    private func oldest(of suite: SuiteName) -> Revision {
        let floor = state.oldestAvailable(of: suite)
        return files.first.map { min(floor, $0.from) } ?? floor
    }

    private func gone(_ what: String, _ suite: SuiteName) -> Problem {
        isBehind ? .pastIsBehind : Problem(historyGone: what, oldest: oldest(of: suite))
    }

    // MARK: Places

    /// Returns the revision of a place in the past. Throws if it is still to come, or if what a suite was there is not kept.
    package func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision {
        switch moment {
        case .revision(let place):
            guard place < state.oldestAvailable(of: suite) else {
                return try state.recentPast.revision(at: moment, of: suite)
            }
            guard place >= oldest(of: suite) else { throw gone("revision \(place)", suite) }
            return place
        case .instant(let instant):
            if let place = try find(instant) { return place }
            do throws(Problem) {
                return try state.recentPast.revision(at: moment, of: suite)
            } catch {
                guard error.code == .historyGone else { throw error }
                throw gone("what was stored at \(instant)", suite)
            }
        }
    }

    /// Returns the last commit that was not later than an instant, if files have it; nil if memory knows better.
    private func find(_ instant: Timestamp) throws(Problem) -> Revision? {
        guard instant < state.time, let oldest = files.first else { return nil }
        if let last = state.recentPast.lastKnownRevision(notAfter: instant), last >= state.history.oldestAvailable {
            return nil
        }
        for file in files.reversed() {
            let found = try reading(file) { reader throws(RecoveryError) in try reader.last(notAfter: instant) }
            if let found { return min(found, state.revision) }
        }
        if oldest.from == .zero { return .zero }
        return oldest.fromTime.flatMap { $0 <= instant ? oldest.from : nil }
    }

    // MARK: Suites

    /// A suite as it stood after a commit; nil if there was none.
    package func suite(_ name: SuiteName, at place: Revision) throws(Problem) -> Suite? {
        guard place < state.oldestAvailable(of: name), let end = files.last?.to else {
            return try state.recentPast.suite(name, at: place)
        }
        guard place >= oldest(of: name) else { throw gone("revision \(place)", name) }
        var commits: [KeptCommit] = []
        for file in files where file.to > place {
            let base = try reading(file) { reader throws(RecoveryError) -> Suite?? in
                for fragment in try reader.fragments(of: name) where fragment.last > place {
                    let (found, base) = try reader.read(fragment)
                    commits += found
                    if fragment.hasBase { return .some(base) }
                }
                return nil
            }
            if let base { return suite(name, at: place, from: base, commits) }
        }
        commits.removeAll { $0.revision > state.revision }
        commits += state.history.commits(affecting: name, after: end)
        return suite(name, at: place, from: state.suite(name), commits)
    }

    private func suite(_ name: SuiteName, at place: Revision, from base: Suite?, _ commits: [KeptCommit]) -> Suite? {
        let origins = Dictionary(
            commits.map { ($0.revision, $0.commit.origin) }, uniquingKeysWith: { first, _ in first })
        return state.recentPast.suite(
            name, at: place, from: base, undoing: commits.filter { $0.revision > place },
            lastBefore: commits.last { $0.revision <= place }?.revision
        ) { origins[$0] ?? state.history.origin(of: $0) }
    }

    // MARK: Commits

    /// A page of the commits that touched a suite, the newest first. Throws if nothing is known of such a suite.
    ///
    /// In files it looks at a bounded number of commits; the next page goes on where it ended.
    package func history(_ question: HistoryQuestion) throws(Problem) -> SuiteHistory {
        let suite = question.suite
        var page = HistoryPage(question)
        var isKnown = state.hasSuite(suite) || state.history.hasCommits(of: suite)
        var isFull = false
        let start = question.endRevision(in: state)
        state.history.forEachReversed(of: suite, before: start) { kept in
            isFull = !page.add(kept, on: state)
            return !isFull
        }
        var end = min(start, state.oldestAvailable(of: suite).advanced(by: 1) ?? start)
        if let newest = files.last, !isFull {
            let rest = state.history.commits(affecting: suite, after: newest.to).filter { $0.revision < end }
            isFull = !rest.reversed().allSatisfy { page.add($0, on: state) }
        }
        var searched = 0
        for file in files.reversed() where !isFull && file.from < end {
            guard searched < Self.mostSearched else {
                page.end(before: end)
                break
            }
            searched += Self.costOfFile
            let fragments = try reading(file) { reader throws(RecoveryError) in try reader.fragments(of: suite) }
            isKnown = isKnown || !fragments.isEmpty
            for fragment in fragments.reversed() where !isFull && fragment.first < end {
                guard searched < Self.mostSearched else {
                    page.end(before: end)
                    isFull = true
                    break
                }
                let commits = try reading(file) { reader throws(RecoveryError) in try reader.read(fragment).commits }
                isFull = !commits.reversed().allSatisfy { $0.revision >= end || page.add($0, on: state) }
                searched += commits.count
                end = fragment.first
            }
            if searched < Self.mostSearched { end = min(end, file.from.advanced(by: 1) ?? end) }
        }
        guard isKnown || page.next != nil else { throw state.unknownSuite(suite, for: question.reader) }
        return page.result(oldest: oldest(of: suite))
    }

    /// The net changes of a suite between two places, of which the first may be the later one.
    package func difference(
        of name: SuiteName, from: Moment, to: Moment, for reader: Grants?
    ) throws(Problem) -> SuiteDifference {
        let (start, end) = (try revision(at: from, of: name), try revision(at: to, of: name))
        guard min(start, end) < state.oldestAvailable(of: name) else {
            return try state.recentPast.difference(of: name, from: .revision(start), to: .revision(end), for: reader)
        }
        let (before, after) = (try suite(name, at: start), try suite(name, at: end))
        guard before != nil || after != nil || state.hasSuite(name) || state.history.hasCommits(of: name) else {
            throw state.unknownSuite(name, for: reader)
        }
        return state.recentPast.difference(of: name, from: before, to: after, at: end, keys: nil, for: reader)
    }

    /// Finds a commit; nil if there is none of this revision, as far as commits are kept.
    private func commit(_ revision: Revision) throws(Problem) -> KeptCommit? {
        if let kept = state.history.commit(revision) { return kept }
        guard let file = files.last(where: { $0.from < revision }), revision <= file.to else { return nil }
        return try reading(file) { reader throws(RecoveryError) in
            guard let suite = try reader.find(revision)?.suite else { return nil }
            let fragments = try reader.fragments(of: suite)
            guard let fragment = fragments.first(where: { $0.last >= revision }) else { return nil }
            return try reader.read(fragment).commits.first { $0.revision == revision }
        }
    }

    /// Reads from a file. One that is damaged is taken out of use, with those before it.
    private func reading<Result>(
        _ file: PastFile, _ body: (PastReader) throws(RecoveryError) -> Result
    ) throws(Problem) -> Result {
        do throws(RecoveryError) {
            return try body(try PastReader(file, in: past.directory))
        } catch {
            // It may have become too old meanwhile.
            if past.has(file), error.kind == .inaccessible {
                throw Problem(.storageFailed, "cannot read the history: \(error.reason)")
            }
            past.cut(file, because: error)
            throw Problem(historyGone: "what was stored before revision \(file.to)", oldest: file.to)
        }
    }
}

/// Writes that rest on the past.
extension PastView {
    /// The most later changes that are looked for in files.
    private static let mostLater = 64

    /// Adds to a write what it needs of the past that memory does not have. Throws if that is not kept.
    package func complete(_ request: inout WriteRequest) throws(Problem) {
        switch request.command {
        case .undo(let undo, of: let name, onConflict: _):
            guard state.lacksPast(for: request.command) else { return }
            let oldest = name.map { self.oldest(of: $0) } ?? files.first?.from ?? state.history.oldestAvailable
            guard undo.revision > oldest else {
                throw isBehind ? .pastIsBehind : Problem(historyGone: "commit \(undo.revision)", oldest: oldest)
            }
            guard let commit = try self.commit(undo.revision) else {
                guard let newest = files.last, undo.revision <= newest.to else { return }
                throw Problem(.badRequest, "revision \(undo.revision) changed nothing")
            }
            request.past = WriteRequest.Past(commit: commit, later: try later(than: commit))
        case .restore(let name, let restore, skipsConflicts: _):
            let place = try self.revision(at: restore.moment, of: name)
            guard place < state.oldestAvailable(of: name) else { return }
            guard let suite = try self.suite(name, at: place) else {
                throw state.recentPast.unknownSuite(name, for: request.reader, at: place)
            }
            request.past = WriteRequest.Past(suite: suite)
        default: break
        }
    }

    /// The last commits of what a commit did, as far as they are not in memory either.
    private func later(than kept: KeptCommit) throws(Problem) -> [KeptCommit] {
        let commit = kept.commit
        var revisions: Set<Revision> = []
        for change in commit.changes {
            guard let revision = state.suite(change.suite)?.record(change.key).revision else { continue }
            if revision > commit.revision, revisions.count < Self.mostLater { revisions.insert(revision) }
        }
        var later: [KeptCommit] = []
        for revision in revisions.sorted() where state.history.commit(revision) == nil {
            if let commit = try self.commit(revision) { later.append(commit) }
        }
        // Of a suite that is gone, any later commit shows that it was there again.
        for change in commit.suiteChanges where !state.hasSuite(change.suite) {
            for file in files where file.to > commit.revision {
                let found = try reading(file) { reader throws(RecoveryError) -> KeptCommit? in
                    for fragment in try reader.fragments(of: change.suite) where fragment.last > commit.revision {
                        return try reader.read(fragment).commits.first { $0.revision > commit.revision }
                    }
                    return nil
                }
                if let found {
                    later.append(found)
                    break
                }
            }
        }
        return later
    }
}

extension Problem {
    /// The problem of commits that left the memory and are on their way to a file.
    fileprivate static var pastIsBehind: Problem {
        Problem(.overloaded, retryAfterMs: 1000, "the history is being written; try again")
    }
}
