package import SettingsAPI
internal import SettingsModel

/// What there is to tell a watcher that comes with a place in history.
package enum Finding: Sendable {
    /// The suite that it asks for does not exist, and nothing can be said of how that came.
    case absent
    /// The state: because it has none yet, or because history does not reach back to where it was.
    case state(isReset: Bool)
    /// Commits that concern it, oldest first. Never empty.
    case commits([KeptCommit])
    /// Nothing has happened since.
    case nothing
    /// It was not found out: more commits than were allowed would have to be looked at.
    case undecided
}

extension State {
    /// What there is to tell somebody who watches from a place on.
    ///
    /// - Parameters:
    ///   - since: the last place that is known to the watcher; nil if it knows nothing.
    ///   - effort: how many commits may be looked at.
    package func find(_ subject: WatchSubject, since: ResumePoint?, effort: Int = .max) -> Finding {
        guard let since, reaches(subject, since) else {
            return isThere(subject) ? .state(isReset: since != nil) : .absent
        }
        guard let commits = commits(for: subject, after: since.revision, effort: effort) else { return .undecided }
        return commits.isEmpty ? .nothing : .commits(commits)
    }

    /// Whether all that concerned the watcher since that place is still known.
    private func reaches(_ subject: WatchSubject, _ since: ResumePoint) -> Bool {
        if case .cursor(let cursor) = since, cursor.epoch != epoch { return false }
        return reaches(subject, after: since.revision)
    }

    /// Whether there is something to tell of: several suites are told of even if all of them are missing.
    package func isThere(_ subject: WatchSubject) -> Bool {
        !subject.isOne || hasSuite(subject.suites[0])
    }

    /// Whether all that concerned the watcher since a commit is still known.
    package func reaches(_ subject: WatchSubject, after revision: Revision) -> Bool {
        // Mostly nothing at all is forgotten since then, and then it need not be looked at each of many suites.
        guard history.floor > revision else { return true }
        guard subject.suites.allSatisfy({ historyFloor(of: $0) <= revision }) else { return false }
        return subject.suitePrefixes.allSatisfy { prefix in
            // A suite that was dropped is watched, too, for as long as it has a log, and counts with those that have none.
            guard history.base <= revision else { return false }
            var isReached = true
            history.forEachLog(startingAt: prefix.string) { log in
                guard log.suite.text.hasBytePrefix(prefix.string) else { return false }
                isReached = log.floor <= revision
                return isReached
            }
            return isReached
        }
    }

    /// The commits after a revision among which those are that concern a watcher: one list in order, or several that may
    /// have some in common.
    private func candidates(for subject: WatchSubject, after revision: Revision) -> [AnySequence<KeptCommit>] {
        guard subject.suitePrefixes.isEmpty else { return [AnySequence(history.commits(after: revision))] }
        return subject.suites.map { AnySequence(history.commits(of: $0, after: revision)) }
    }

    /// The commits after a revision that concern a watcher, oldest first; nil if that takes too many looks.
    package func commits(
        for subject: WatchSubject, after revision: Revision, upTo end: Revision? = nil, effort: Int = .max
    ) -> [KeptCommit]? {
        var found: [KeptCommit] = []
        var looks = 0
        let candidates = candidates(for: subject, after: revision)
        for commits in candidates {
            for kept in commits {
                if let end, kept.commit.revision > end { break }
                looks += 1 + kept.commit.changes.count / 16
                guard looks <= effort else { return nil }
                if subject.matches(kept.commit) { found.append(kept) }
            }
        }
        guard candidates.count > 1 else { return found }
        // A commit that touched several suites stands in the log of each.
        found.sort { $0.commit.revision < $1.commit.revision }
        var unique: [KeptCommit] = []
        for kept in found where unique.last?.commit.revision != kept.commit.revision { unique.append(kept) }
        return unique
    }

    /// The first of the commits after a revision that concern a watcher, and how far was looked: to be called again from
    /// there until that is the state's own revision.
    ///
    /// - Parameters:
    ///   - effort: how many commits are looked at, of each suite where suites are named.
    ///   - bytes: how much the commits may weigh together, save that one is always given.
    package func nextCommits(
        for subject: WatchSubject, after revision: Revision, effort: Int, bytes: Int
    ) -> (commits: [KeptCommit], reached: Revision) {
        var reached = self.revision
        for commits in candidates(for: subject, after: revision) {
            var (count, last) = (0, revision)
            for kept in commits {
                guard count < effort else {
                    reached = min(reached, last)
                    break
                }
                count += 1
                last = kept.commit.revision
            }
        }
        var found: [KeptCommit] = []
        var size = 0
        for kept in commits(for: subject, after: revision, upTo: reached) ?? [] {
            if let last = found.last, size + kept.size > bytes { return (found, last.commit.revision) }
            found.append(kept)
            size += kept.size
        }
        return (found, reached)
    }
}
