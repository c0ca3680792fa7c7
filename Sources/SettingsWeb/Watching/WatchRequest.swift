internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A parsed request that watches, which means that it waits for changes of settings: a long poll or an event stream.
struct WatchRequest: Sendable {
    /// The suites, keys and prefixes to watch, with the grants of a caller that may not read everything.
    let subject: WatchSubject
    /// Nil if access control is off.
    let caller: Caller?
    /// The revision (the number of a commit) up to which the client knows all commits, or a cursor: the revision with
    /// the epoch, which names the history. Nil if the client has no revision, so that it gets the state.
    let since: ResumePoint?
    let isStream: Bool
    /// The style of events: with settings and their changes, or OpenFeature's requests to fetch the flags again.
    let style: EventStyle
    /// The seconds to wait; nil if the request does not have the parameter `wait`.
    let wait: Int?
    /// The maximum number of changes in the answer; nil for no limit.
    let limit: Int?
    /// True if the answer combines all changes of a key into one change.
    let mergesByKey: Bool
    /// The report of the client that watches; nil if the client does not report.
    let clientParameters: ClientParameters?
    /// Keeps the client present (its status is not `gone`) while the request waits; nil before the report is recorded,
    /// and if the client does not report.
    var clientWatch: ClientWatch?

    /// The seconds that a long poll without the parameter `wait` waits.
    static let defaultWait = 30

    init(_ request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) {
        let query = request.query
        subject = try Self.subject(request, bytes)
        caller = request.caller
        try subject.checkGrants(of: caller)
        style = request.route.resource == .evaluationEvents ? .refetchRequests : .settings
        isStream = style == .refetchRequests || request.prefersEventStream(in: bytes)
        if isStream {
            for parameter in [Parameter.wait, .changeLimit, .latest] where query.has(parameter) {
                throw Problem(
                    .badRequest, "the parameter \(parameter.name) is for long polls; remove it for text/event-stream")
            }
        }
        since = try Self.since(request, bytes, isStream: isStream)
        wait = query.count(.wait)
        limit = query.count(.changeLimit)
        mergesByKey = query.flag(.latest)
        clientParameters = try ClientParameters(query)
        if clientParameters != nil, query.has(.watchedSuitePrefix) {
            throw Problem(
                .badRequest,
                "the parameters client and suitePrefix cannot be combined: name the suites, as in suite=a&suite=b")
        }
    }

    /// True if a long poll waits for the creation of a suite that does not exist: if the request has the parameter
    /// `since` or `wait`, unless `wait` is 0.
    var waitsForSuite: Bool { (wait != nil || since != nil) && wait != 0 }

    private static func subject(_ request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) -> WatchSubject {
        let query = request.query
        let restrictedGrants = request.caller?.restrictedGrants
        let filter = KeyFilter(
            keys: try query.texts(.filterKey).map { text throws(Problem) in try name(text, "key", KeyName.init) },
            prefixes: query.texts(.filterPrefix))
        if request.route.suite != nil {
            return WatchSubject(try request.suite(in: bytes), filter, for: restrictedGrants)
        }
        let suites = try query.texts(.watchedSuite).map { text throws(Problem) in
            try name(text, "suite", SuiteName.init)
        }
        let prefixes = query.texts(.watchedSuitePrefix)
        guard !suites.isEmpty || !prefixes.isEmpty else {
            throw Problem(
                .badRequest,
                "name the suites to observe, as in /v1/observe?suite=a&suite=b or /v1/observe?suitePrefix=a")
        }
        return WatchSubject(suites, prefixes: prefixes, filter, for: restrictedGrants)
    }

    private static func since(
        _ request: APIRequest, _ bytes: Span<UInt8>, isStream: Bool
    ) throws(Problem) -> ResumePoint? {
        var (text, name) = (request.query.text(.since), Parameter.since.name)
        // A browser that reconnects adds `Last-Event-ID` to the same URL, so the id is newer than `since` in the URL.
        if isStream, let lastEventID = request.fieldValue(.lastEventID, in: bytes), !lastEventID.isEmpty {
            (text, name) = (lastEventID, "Last-Event-ID")
        }
        guard let text else { return nil }
        // A revision without an epoch is accepted, too. The message recommends a cursor, because the daemon cannot
        // check that a revision belongs to its history.
        guard let resumePoint = ResumePoint(text) else {
            throw Problem(.badRequest, "\(name): must be a cursor such as 7f3a.40 (got \"\(text)\")")
        }
        return resumePoint
    }

    private static func name<Name>(
        _ text: String, _ parameter: String, _ make: (String) throws(NameError) -> Name
    ) throws(Problem) -> Name {
        do {
            return try make(text)
        } catch {
            throw Problem(.badRequest, "\(parameter): \(error.description)")
        }
    }
}
