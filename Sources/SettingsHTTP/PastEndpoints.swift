internal import HTTPWire
public import SettingsAPI
public import SettingsModel

extension Endpoint where Output == Answer<SuiteHistory> {
    /// A page of the commits to a suite, the newest commit first. If there are more commits, pass `next` of the page as
    /// `before` to get the next page.
    ///
    /// - Parameters:
    ///   - suite: the suite. A dropped suite also has a history.
    ///   - keys: list only commits that changed one of these keys, or a key that begins with `prefix`.
    ///   - prefix: list only commits that changed a key that begins with this text, or one of `keys`.
    ///   - caller: list only commits of the caller with this name.
    ///   - before: list only commits before this revision.
    ///   - limit: the maximum number of commits, at most 1000. The default is 50.
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
    /// The differences of a suite between two moments. The first moment may be later than the second moment.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - start: the first moment.
    ///   - end: the second moment. By default the present.
    public static func difference(of suite: SuiteName, from start: Moment, to end: Moment? = nil) -> Endpoint {
        let target = RequestTarget("v1", "suites", suite.text, "diff").with("from", start.text).with("to", end?.text)
        return Endpoint(Request(.get, target))
    }
}

extension Endpoint where Output == Answer<WriteSummary> {
    /// Reverts the changes that a commit made in one suite or in all suites. Throws the code `changedSince` if a later
    /// commit changed one of the keys or the schema, or created a suite that the commit had dropped, unless `isForced` is true.
    ///
    /// - Parameters:
    ///   - revision: the revision of the commit.
    ///   - suite: the suite. Nil for all suites that the commit changed.
    ///   - isForced: true to undo the commit even if a later commit changed the same keys or the schema.
    ///   - policy: determines what happens to stored values that a restored schema does not allow.
    ///   - options: the conditions and other options of the write.
    public static func undo(
        _ revision: Revision, in suite: SuiteName? = nil, isForced: Bool = false,
        onConflict policy: ConflictPolicy = .refuse, _ options: WriteOptions = .plain
    ) -> Endpoint {
        let target = suite.map { RequestTarget("v1", "suites", $0.text, "undo") } ?? RequestTarget("v1", "undo")
        let body = UndoRequest(revision, isForced: isForced).jsonBytes()
        let policy = policy == .refuse ? nil : policy.rawValue
        return .write(Request(.post, target.with("onConflict", policy), body: body), options)
    }

    /// Restores the stored values of a suite to a moment in the past: of all keys, of the keys that begin with a
    /// prefix, or of the given keys. Throws the code `schemaConflict` if the present schema does not allow a value,
    /// unless `skipsConflicts` is true.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - moment: the moment in the past.
    ///   - prefix: restore only keys that begin with this text.
    ///   - keys: restore only these keys. Cannot be combined with `prefix`.
    ///   - skipsConflicts: true to skip a key if the present schema does not allow its former value.
    ///   - options: the conditions and other options of the write.
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
