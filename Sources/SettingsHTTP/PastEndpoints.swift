internal import HTTPWire
public import SettingsAPI
public import SettingsModel

extension Endpoint where Output == Answer<SuiteHistory> {
    /// A page of the commits that touched a suite, the newest first. When there are more, `next` is where to go on: as
    /// `before`.
    ///
    /// - Parameters:
    ///   - suite: the suite; one that was dropped has a history, too.
    ///   - keys: only commits that changed one of these keys; with `prefix`, or one that begins so.
    ///   - prefix: only commits that changed a key that begins so.
    ///   - caller: only commits of the caller of this name.
    ///   - before: only commits before this one.
    ///   - limit: the most commits to list, up to 1000; without it, 50.
    public static func history(
        of suite: SuiteName, keys: [KeyName] = [], prefix: String? = nil, by caller: String? = nil,
        before: Revision? = nil, limit: Int? = nil
    ) -> Endpoint {
        var target = RequestTarget("v1", "suites", suite.text, "history")
        for key in keys { target = target.with("key", key.text) }
        target = target.with("prefix", prefix).with("by", caller).with("before", before?.description)
            .with("limit", limit.map(String.init))
        return Endpoint(Request(.get, target)) { reply throws(SettingsError) in try reply.answer() }
    }
}

extension Endpoint where Output == SuiteDifference {
    /// The differences of a suite between two moments. Without `end`, the second moment is now. The first moment may be later
    /// than the second moment.
    public static func difference(of suite: SuiteName, from start: Moment, to end: Moment? = nil) -> Endpoint {
        let target = RequestTarget("v1", "suites", suite.text, "diff").with("from", start.text).with("to", end?.text)
        return Endpoint(Request(.get, target))
    }
}

extension Endpoint where Output == Answer<WriteSummary> {
    /// Undoes what a commit did to a suite, or without a suite all that it did. Throws `changedSince` if that was changed
    /// since, unless it `isForced`.
    ///
    /// - Parameters:
    ///   - revision: the commit.
    ///   - suite: the suite; nil for all suites that the commit touched.
    ///   - isForced: true to undo it though it was changed since.
    ///   - policy: how to treat stored values that a schema which comes back does not allow.
    ///   - options: the conditions of the write.
    public static func undo(
        _ revision: Revision, in suite: SuiteName? = nil, isForced: Bool = false,
        onConflict policy: ConflictPolicy = .refuse, _ options: WriteOptions = .plain
    ) -> Endpoint {
        let target = suite.map { RequestTarget("v1", "suites", $0.text, "undo") } ?? RequestTarget("v1", "undo")
        let body = UndoRequest(revision, isForced: isForced).jsonBytes()
        let policy = policy == .refuse ? nil : policy.rawValue
        return .write(Request(.post, target.with("onConflict", policy), body: body), options)
    }

    /// Makes what a suite stores what it was: all of it, the keys that begin with a prefix, or those that are named. Throws
    /// `schemaConflict` if the schema of now does not allow it.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - moment: the revision or the instant.
    ///   - prefix: only keys that begin so.
    ///   - keys: only these keys; not together with `prefix`.
    ///   - skipsConflicts: true to leave keys as they are whose values the schema does not allow now.
    ///   - options: the conditions of the write.
    public static func restore(
        _ suite: SuiteName, to moment: Moment, prefix: String? = nil, keys: [KeyName]? = nil,
        skipsConflicts: Bool = false, _ options: WriteOptions = .plain
    ) -> Endpoint {
        let target = RequestTarget("v1", "suites", suite.text, "restore")
            .with("onConflict", skipsConflicts ? "skip" : nil)
        let body = RestoreRequest(to: moment, prefix: prefix, keys: keys).jsonBytes()
        return .write(Request(.post, target, body: body), options)
    }
}
