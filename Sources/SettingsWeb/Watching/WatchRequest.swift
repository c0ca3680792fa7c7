internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The parameters of a request that watches, from its path, query and fields.
struct WatchRequest: Sendable {
    let subject: WatchSubject
    let caller: Caller?
    /// The last revision that the caller knows.
    let since: ResumePoint?
    let isStream: Bool
    let style: EventStyle
    /// The seconds to wait; nil if the request does not say.
    let wait: Int?
    let limit: Int?
    let keepsLatest: Bool

    /// The seconds that a request without the parameter `wait` waits.
    static let defaultWait = 30

    init(_ request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) {
        let query = request.query
        subject = try Self.subject(request, bytes)
        caller = request.caller
        try subject.checkGrants(of: caller)
        style = request.route.resource == .evaluationEvents ? .refetches : .changes
        isStream = style == .refetches || request.prefersEventStream(in: bytes)
        if isStream {
            for parameter in [Parameter.wait, .changeLimit, .latest] where query.has(parameter) {
                throw Problem(
                    .badRequest, "the parameter \(parameter.name) does not go with text/event-stream, which ends never")
            }
        }
        since = try Self.since(request, bytes, isStream: isStream)
        wait = query.count(.wait)
        limit = query.count(.changeLimit)
        keepsLatest = query.flag(.latest)
    }

    /// True if the request waits for a suite that does not exist.
    var waitsForSuite: Bool {
        if isStream { return since != nil }
        return (wait != nil || since != nil) && wait != 0
    }

    private static func subject(_ request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) -> WatchSubject {
        let query = request.query
        let reader = request.caller?.reader
        let filter = KeyFilter(
            keys: try query.texts(.watchedKey).map { text throws(Problem) in try name(text, "key", KeyName.init) },
            prefixes: query.texts(.watchedPrefix))
        if request.route.suite != nil { return WatchSubject(try request.suite(in: bytes), filter, for: reader) }
        let suites = try query.texts(.watchedSuite).map { text throws(Problem) in
            try name(text, "suite", SuiteName.init)
        }
        let prefixes = query.texts(.watchedSuitePrefix)
        guard !suites.isEmpty || !prefixes.isEmpty else {
            throw Problem(
                .badRequest,
                "say which suites to observe, as in /v1/observe?suite=a&suite=b or /v1/observe?suitePrefix=a.")
        }
        return WatchSubject(suites, prefixes: prefixes, filter, for: reader)
    }

    private static func since(
        _ request: APIRequest, _ bytes: Span<UInt8>, isStream: Bool
    ) throws(Problem) -> ResumePoint? {
        var (text, name) = (request.query.text(.since), Parameter.since.name)
        // A browser that reconnects sends the last id by itself, which is newer than the `since` in the page.
        if isStream, let last = request.fieldValue(.lastEventID, in: bytes), !last.isEmpty {
            (text, name) = (last, "Last-Event-ID")
        }
        guard let text else { return nil }
        guard let place = ResumePoint(text) else {
            throw Problem(.badRequest, "\(name) must be a cursor such as 7f3a.40, but is \"\(text)\"")
        }
        return place
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
