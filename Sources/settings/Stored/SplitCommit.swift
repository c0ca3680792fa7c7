import SettingsHTTP

/// A write that may have more settings than the daemon accepts in one commit. If the write has more settings, the
/// command splits the write into parts, and makes a commit of each part.
///
/// Dry runs of all parts find refused values and changes by other callers before the daemon stores anything. Each
/// commit requires the revision that the previous commit produced. If a commit fails after the dry runs, the earlier
/// commits remain, and the error contains the number of committed settings.
struct SplitCommit {
    /// The maximum number of settings in a part, and the approximate maximum size of the request of a part in bytes.
    /// The number is below the default limit of the daemon.
    private static let (maximumPartKeys, maximumPartBytes) = (50_000, 8 << 20)
    /// The maximum number of settings that the command tries to write in one commit before it splits the write: the
    /// default limit of the daemon, `limits.commitKeys`.
    private static let maximumUnsplitKeys = 100_000

    let suite: SuiteName
    let operations: [Transaction.Operation]
    let client: DaemonClient

    /// Makes one commit of all operations. Returns nil, and stores nothing, if the operations are too many or too large
    /// for one commit.
    ///
    /// - Parameter start: the revision that the suite must have; nil for any revision.
    func commitAtOnce(_ options: WriteOptions, from start: Revision?) throws -> Answer<WriteSummary>? {
        guard operations.count <= Self.maximumUnsplitKeys else { return nil }
        return try send(operations[...], at: start, options)
    }

    /// Makes the commits, and calls `report` with the summary of each commit. If the options ask for a dry run, makes
    /// no commit, and calls `report` with the summaries of the dry runs. Returns the revision of the suite at the end.
    ///
    /// - Parameter start: the revision that the suite must have; nil for its present revision.
    func commit(_ options: WriteOptions, from start: Revision?, report: (Answer<WriteSummary>) -> Void) throws
        -> Revision
    {
        var revision = try start ?? presentRevision()
        let dryRun = WriteOptions(isDryRun: true, overridesLocks: options.overridesLocks, note: options.note)
        var dryRunSummaries: [Answer<WriteSummary>] = []
        let parts = try checkedParts(at: revision, dryRun) { if options.isDryRun { dryRunSummaries.append($0) } }
        guard !options.isDryRun else {
            for summary in dryRunSummaries { report(summary) }
            return revision
        }
        guard parts.count <= 1 || !options.hasDeadline else {
            throw ToolError(
                .refused,
                "the change needs \(parts.count) commits, but --confirm, --until and --effective apply to one commit; "
                    + "raise the option limits.commitKeys of the daemon, or change fewer settings")
        }
        var committedCount = 0
        for part in parts {
            let summary: Answer<WriteSummary>
            do {
                // With a request key, the client can repeat a request that got no answer.
                guard let sent = try send(operations[part], at: revision, options.repeatable()) else {
                    // The daemon accepted the size of this part in the dry run, so the limit of the daemon has become
                    // smaller since then.
                    throw ToolError(
                        .refused,
                        "cannot make the commit: the daemon now allows fewer settings in one commit; run the command again"
                    )
                }
                summary = sent
            } catch {
                Progress.clear()
                guard committedCount > 0 else { throw error }
                let cause = ToolError(describing: error)
                throw ToolError(
                    cause.code,
                    """
                    cannot commit all settings: \(cause.message)
                    \(committedCount) of \(operations.count) settings are committed; run the command again for the other settings
                    """)
            }
            if summary.changed { revision = summary.revision }
            report(summary)
            committedCount += part.count
            Progress.show("committed", committedCount, of: operations.count)
        }
        Progress.clear()
        return revision
    }

    /// Checks all operations with dry runs. Returns the operations of each commit, as ranges that the daemon accepts.
    private func checkedParts(
        at revision: Revision, _ options: WriteOptions, report: (Answer<WriteSummary>) -> Void
    ) throws -> [Range<Int>] {
        var (parts, start, maximum) = ([Range<Int>](), 0, Self.maximumPartKeys)
        defer { Progress.clear() }
        while start < operations.count {
            let part = self.part(from: start, atMost: maximum)
            guard let summary = try send(operations[part], at: revision, options) else {
                guard part.count > 1 else {
                    throw ToolError(
                        .refused, "cannot store \(operations[start].key): the value is larger than the daemon allows")
                }
                maximum = part.count / 2
                continue
            }
            report(summary)
            parts.append(part)
            start = part.upperBound
            Progress.show("checked", start, of: operations.count)
        }
        return parts
    }

    /// Returns the range of the next part: at most `maximum` operations, and about `maximumPartBytes` bytes. The
    /// size of an operation is an estimate: each unit of the extent of its value (a JSON value, or 8 bytes of text)
    /// counts as 16 bytes. The rest of the operation counts as 64 bytes and the bytes of the key.
    private func part(from start: Int, atMost maximum: Int) -> Range<Int> {
        var (end, size) = (start, 0)
        while end < operations.count, end - start < maximum, size < Self.maximumPartBytes {
            if case .set(let value) = operations[end].action { size += 16 * value.extent(upTo: Self.maximumPartBytes) }
            size += 64 + operations[end].key.text.utf8.count
            end += 1
        }
        return start..<end
    }

    /// Commits a part, or checks it if the options ask for a dry run. Returns nil, and stores nothing, if the daemon
    /// does not accept the size of the part.
    private func send(
        _ part: ArraySlice<Transaction.Operation>, at revision: Revision?, _ options: WriteOptions
    ) throws -> Answer<WriteSummary>? {
        let conditions = revision.map { [Transaction.Condition.suite(suite, $0)] } ?? []
        do throws(SettingsError) {
            return try client.blocking.send(.commit(Transaction(if: conditions, do: Array(part)), options))
        } catch {
            switch error.code {
            case .tooLarge: return nil
            case .preconditionFailed: throw SuiteConflict(suite: suite)
            default: throw error
            }
        }
    }

    private func presentRevision() throws -> Revision {
        let page = try client.blocking.send(.suites(prefix: suite.text, limit: 1))
        return page.suites.first { $0.suite == suite }?.revision ?? .zero
    }
}
