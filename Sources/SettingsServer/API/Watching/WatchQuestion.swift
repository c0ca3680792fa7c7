internal import HTTPWire
internal import SettingsModel

/// What a watcher asks for.
struct WatchQuestion: Hashable, Sendable {
    /// How the answer comes.
    enum Form: Hashable, Sendable {
        /// One answer, after so many seconds at the latest; nil if that was left open.
        case poll(wait: Int?, limit: Int?, keepsLatest: Bool)
        /// Events without end.
        case stream
    }

    let subject: WatchSubject
    /// The last place in history that the watcher knows.
    let since: ResumePoint?
    let form: Form

    /// How long a poll waits that does not say, in seconds.
    static let usualWait = 30

    init(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) {
        let query = incoming.query
        let filter = KeyFilter(
            keys: try query.texts(.watchedKey).map { text throws(Problem) in try Self.name(text, "key", KeyName.init) },
            prefixes: query.texts(.watchedPrefix))
        if incoming.route.suite != nil {
            subject = WatchSubject(try incoming.suite(in: bytes), filter)
        } else {
            let suites = try query.texts(.watchedSuite).map { text throws(Problem) in
                try Self.name(text, "suite", SuiteName.init)
            }
            let prefixes = query.texts(.watchedSuitePrefix)
            guard !suites.isEmpty || !prefixes.isEmpty else {
                throw Problem(
                    .badRequest,
                    "say which suites to observe, as in /v1/observe?suite=a&suite=b or /v1/observe?suitePrefix=a.")
            }
            subject = WatchSubject(suites, prefixes: prefixes, filter)
        }
        var (since, name) = (query.text(.since), Parameter.since.name)
        let isStream = incoming.wantsEventStream(in: bytes)
        if isStream {
            for parameter in [Parameter.wait, .changeLimit, .latest] where query.has(parameter) {
                throw Problem(
                    .badRequest, "the parameter \(parameter.name) does not go with text/event-stream, which ends never")
            }
            // What a browser sends by itself when it comes back is newer than what its page was written with.
            if let last = incoming.text(.lastEventID, in: bytes), !last.isEmpty {
                (since, name) = (last, "Last-Event-ID")
            }
        }
        self.since = try since.map { [name] text throws(Problem) in
            guard let place = ResumePoint(text) else {
                throw Problem(.badRequest, "\(name) must be a cursor such as 7f3a.40, but is \"\(text)\"")
            }
            return place
        }
        form =
            isStream
            ? .stream
            : .poll(
                wait: query.count(.wait), limit: query.count(.changeLimit), keepsLatest: query.flag(.latest))
    }

    /// How many seconds the answer may take.
    var wait: Int {
        if case .poll(let wait?, _, _) = form { wait } else { Self.usualWait }
    }

    /// Whether somebody who asks so waits for a suite that does not exist.
    var waitsForSuite: Bool {
        guard case .poll(let wait, _, _) = form else { return since != nil }
        return (wait != nil || since != nil) && self.wait > 0
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

extension Incoming {
    /// True if the caller prefers server-sent events to JSON. Where both have one quality, naming events asks for them.
    func wantsEventStream(in bytes: Span<UInt8>) -> Bool {
        guard let text = text(.accept, in: bytes) else { return false }
        let accept = AcceptedTypes(text)
        let (events, json) = (accept.quality(of: "text/event-stream"), accept.quality(of: "application/json"))
        return events > json || events == json && events > 0 && accept.names("text/event-stream")
    }
}
