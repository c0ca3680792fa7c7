internal import HTTPWire
public import SettingsAPI
public import SettingsModel

extension Endpoint where Output == ServiceDescription {
    /// The name and the version of the daemon, and the cursor of its present state.
    public static var service: Endpoint { Endpoint(Request(.get, RequestTarget("v1"))) }
}

extension Endpoint where Output == CallerState {
    /// The caller according to its credential: the name, the grants, and the time at which the credential expires.
    public static var caller: Endpoint { Endpoint(Request(.get, RequestTarget("v1", "caller"))) }
}

extension Endpoint where Output == ReloadReport {
    /// Makes the daemon read its configuration again. If the configuration has an error, throws the error. The daemon
    /// then keeps its options, but reads a valid token file again. If stored values do not match a schema file, the
    /// daemon refuses only this schema (see `ReloadReport.refusedSchemas`). Needs the right `reload`.
    public static var reload: Endpoint { Endpoint(Request(.post, RequestTarget("v1", "reload"))) }
}

extension Endpoint where Output == Void {
    /// Succeeds if the daemon is running.
    public static var health: Endpoint { Endpoint(Request(.get, RequestTarget("healthz"))) { _ in } }

    /// Succeeds if the daemon accepts writes. Otherwise throws the reason.
    public static var readiness: Endpoint { Endpoint(Request(.get, RequestTarget("readyz"))) { _ in } }
}

extension Endpoint where Output == String {
    /// The metrics of the daemon in the text format of Prometheus. Needs the right `metrics`.
    public static var metrics: Endpoint {
        Endpoint(Request(.get, RequestTarget("metrics"))) { String(decoding: $0.response.body, as: UTF8.self) }
    }
}

extension Endpoint where Output == JSONValue {
    /// The OpenAPI document of the HTTP interface.
    public static var interfaceDescription: Endpoint {
        Endpoint(Request(.get, RequestTarget("openapi.json"))) { reply throws(SettingsError) in try reply.json() }
    }
}

extension Endpoint where Output == Answer<SuiteListing> {
    /// A page of the suites. If there are more suites, pass `next` of the page as `after` to get the next page.
    ///
    /// - Parameters:
    ///   - prefix: list only suites whose names begin with this text.
    ///   - after: list only suites after this name.
    ///   - limit: the maximum number of suites.
    ///   - includesDropped: true to list also dropped suites whose commits the daemon still has.
    public static func suites(
        prefix: String? = nil, after: SuiteName? = nil, limit: Int? = nil, includesDropped: Bool = false
    ) -> Endpoint {
        let target = RequestTarget("v1", "suites").with("prefix", prefix).with("after", after?.text)
            .with("limit", limit.map(String.init)).with(flag: "dropped", includesDropped)
        return Endpoint(Request(.get, target)) { reply throws(SettingsError) in try reply.answer() }
    }
}

extension Endpoint where Output == [SuiteListing.Entry] {
    /// All suites. Sends a request for each page, so the pages may be from different revisions.
    public static func allSuites(prefix: String? = nil) -> Endpoint {
        .all(page: { .suites(prefix: prefix, after: $0) }, content: { ($0.suites, $0.next) })
    }
}

extension Endpoint where Output == SuiteState {
    /// The values of a suite.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - view: stored values, defaults, or both.
    ///   - prefix: only keys that begin with this text.
    ///   - moment: a moment in the past. By default the present.
    public static func suite(
        _ suite: SuiteName, view: ValueView = .effective, prefix: String? = nil, at moment: Moment? = nil
    ) -> Endpoint {
        let target = RequestTarget.suite(suite).with("view", view == .effective ? nil : view.rawValue)
            .with("prefix", prefix).with("at", moment?.text)
        return Endpoint(Request(.get, target))
    }
}

extension Endpoint where Output == SuiteState? {
    /// The suite, as soon as it has another revision than the given revision. Nil if the suite has not changed when the
    /// wait is over.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - revision: the revision that the program knows.
    ///   - wait: the time for which the daemon waits for a change. Nil to get the answer at once.
    public static func suite(_ suite: SuiteName, changedFrom revision: Revision, wait: Duration? = nil) -> Endpoint {
        .waitingForChange(from: revision, Request(.get, .suite(suite).waiting(wait)), wait: wait) {
            reply throws(SettingsError) in
            try reply.body()
        }
    }
}

extension Endpoint where Output == Answer<KeyListing> {
    /// A page of the keys of a suite, each with its value, source and schema. If there are more keys, pass `next` of
    /// the page as `after` to get the next page.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - prefix: list only keys that begin with this text.
    ///   - after: list only keys after this key.
    ///   - limit: the maximum number of keys.
    ///   - moment: a moment in the past. By default the present.
    public static func keys(
        of suite: SuiteName, prefix: String? = nil, after: KeyName? = nil, limit: Int? = nil,
        at moment: Moment? = nil
    ) -> Endpoint {
        let target = RequestTarget("v1", "suites", suite.text, "keys").with("prefix", prefix)
            .with("after", after?.text).with("limit", limit.map(String.init)).with("at", moment?.text)
        return Endpoint(Request(.get, target)) { reply throws(SettingsError) in try reply.answer() }
    }
}

extension Endpoint where Output == [KeyListing.Entry] {
    /// All keys of a suite. Sends a request for each page, so the pages may be from different revisions unless a moment
    /// is given.
    public static func allKeys(of suite: SuiteName, prefix: String? = nil, at moment: Moment? = nil) -> Endpoint {
        .all(
            page: { .keys(of: suite, prefix: prefix, after: $0, at: moment) }, content: { ($0.keys, $0.next) })
    }
}

extension Endpoint where Output == Answer<SettingState> {
    /// One setting. Throws the code `notSet` if the setting has no value, and `invalidStored` if the stored value does
    /// not match the schema.
    public static func setting(_ key: KeyName, in suite: SuiteName, at moment: Moment? = nil) -> Endpoint {
        Endpoint(Request(.get, .key(key, suite).with("at", moment?.text))) { reply throws(SettingsError) in
            try reply.answer()
        }
    }
}

extension Endpoint where Output == Answer<SettingState>? {
    /// The setting, as soon as it has another revision than the given revision. Nil if the setting has not changed when
    /// the wait is over.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - suite: the suite.
    ///   - revision: the revision that the program knows.
    ///   - wait: the time for which the daemon waits for a change. Nil to get the answer at once.
    public static func setting(
        _ key: KeyName, in suite: SuiteName, changedFrom revision: Revision, wait: Duration? = nil
    ) -> Endpoint {
        let request = Request(.get, .key(key, suite).waiting(wait))
        return .waitingForChange(from: revision, request, wait: wait) { reply throws(SettingsError) in
            try reply.answer()
        }
    }
}

extension Endpoint where Output == SchemaDocument {
    /// The schema of a suite. Throws the code `noSchema` if the suite has no schema.
    public static func schema(of suite: SuiteName, at moment: Moment? = nil) -> Endpoint {
        Endpoint(Request(.get, .schema(suite).with("at", moment?.text))) { reply throws(SettingsError) in
            guard let revision = reply.taggedRevision else {
                throw reply.malformed("the response with the schema has no ETag")
            }
            return SchemaDocument(document: try reply.json(), revision: revision)
        }
    }
}

extension Endpoint where Output == SettingsObservation {
    /// The state of a suite or, with `since`, the changes after a cursor, as soon as there are changes or the wait is
    /// over.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - point: the cursor or the revision after which the changes begin. Nil for the present state.
    ///   - wait: the time for which the daemon waits for a change. The default is 30 seconds.
    ///   - keys: the observed keys. Without keys and prefixes, all keys are observed.
    ///   - prefixes: all keys that begin with one of these texts are observed, too.
    ///   - limit: the approximate maximum number of changes.
    ///   - latest: true to get only the last change of each key.
    public static func observe(
        _ suite: SuiteName, since point: ResumePoint? = nil, wait: Duration? = nil, keys: [KeyName] = [],
        prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Endpoint {
        .observe(
            ObservedSubject(scope: .one(suite), keys: keys, prefixes: prefixes), since: point, wait: wait, limit: limit,
            latest: latest)
    }

    /// The state of several suites or, with `since`, the changes after a cursor, as soon as there are changes or the
    /// wait is over.
    ///
    /// - Parameters:
    ///   - suites: the names of suites.
    ///   - suitePrefixes: all suites whose names begin with one of these texts are observed, too.
    ///   - point: the cursor or the revision after which the changes begin. Nil for the present state.
    ///   - wait: the time for which the daemon waits for a change. The default is 30 seconds.
    ///   - keys: the observed keys. Without keys and prefixes, all keys are observed.
    ///   - prefixes: all keys that begin with one of these texts are observed, too.
    ///   - limit: the approximate maximum number of changes.
    ///   - latest: true to get only the last change of each key.
    public static func observe(
        _ suites: [SuiteName], suitePrefixes: [String] = [], since point: ResumePoint? = nil, wait: Duration? = nil,
        keys: [KeyName] = [], prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Endpoint {
        .observe(
            ObservedSubject(scope: .several(suites, prefixes: suitePrefixes), keys: keys, prefixes: prefixes),
            since: point,
            wait: wait, limit: limit, latest: latest)
    }

    /// - Parameters:
    ///   - client: the name of the client that reports; nil to send no report. With a report, the daemon refuses suites
    ///     that are given by prefix.
    ///   - report: the report of the client.
    package static func observe(
        _ watched: ObservedSubject, since point: ResumePoint?, wait: Duration?, limit: Int?, latest: Bool,
        by client: ClientName? = nil, report: ClientReport = ClientReport()
    ) -> Endpoint {
        let target = watched.target.with("since", point?.description).waiting(wait)
            .with("limit", limit.map(String.init)).with(flag: "latest", latest).with(report, by: client)
        // The default of the daemon is 30 seconds.
        return Endpoint(Request(.get, target), wait: wait ?? .seconds(30))
    }
}

/// The schema of a suite as a client or a schema file has set it. If the schema has secrets, a caller without the right
/// `secrets` on all keys of the suite gets it without the defaults and examples that may be values of secrets.
public struct SchemaDocument: Equatable, Sendable {
    /// The JSON Schema document, from which a `Schema` can be created.
    public var document: JSONValue
    /// The revision of the commit that has set the schema. A program can use it as a condition of the next write.
    public var revision: Revision

    package init(document: JSONValue, revision: Revision) {
        self.document = document
        self.revision = revision
    }
}

/// The kind of values that a request for a suite returns.
public enum ValueView: String, Hashable, Sendable {
    /// The stored value, or the default if no value is stored.
    case effective
    /// Only stored values.
    case stored
    /// Only defaults.
    case `default`
}

/// The suites and keys that a request observes.
package struct ObservedSubject: Equatable, Sendable {
    package enum Scope: Equatable, Sendable {
        case one(SuiteName)
        /// A list of suites. Even for a list with one suite, the answers have another form than the answers for `one`.
        case several([SuiteName], prefixes: [String] = [])
    }

    let scope: Scope
    let keys: [KeyName]
    let prefixes: [String]

    package init(scope: Scope, keys: [KeyName] = [], prefixes: [String] = []) {
        (self.scope, self.keys, self.prefixes) = (scope, keys, prefixes)
    }

    fileprivate var target: RequestTarget {
        var target: RequestTarget
        switch scope {
        case .one(let suite): target = RequestTarget("v1", "suites", suite.text, "observe")
        case .several(let suites, let prefixes):
            target = RequestTarget("v1", "observe")
            for suite in suites { target = target.with("suite", suite.text) }
            for prefix in prefixes { target = target.with("suitePrefix", prefix) }
        }
        for key in keys { target = target.with("key", key.text) }
        for prefix in prefixes { target = target.with("prefix", prefix) }
        return target
    }
}

extension RequestTarget {
    static func suite(_ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text)
    }

    static func key(_ key: KeyName, _ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text, "keys", key.text)
    }

    static func schema(_ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text, "schema")
    }

    fileprivate func with(_ report: ClientReport, by client: ClientName?) -> RequestTarget {
        guard let client else { return self }
        return with("client", client.text).with("applied", report.applied?.description)
            .with("failed", report.failed?.description).with("reason", report.reason)
    }

    fileprivate func waiting(_ wait: Duration?) -> RequestTarget {
        with("wait", wait.map { String($0.wholeSeconds) })
    }
}

extension Duration {
    /// The duration in seconds, rounded up, so that a short wait does not become a wait of zero seconds.
    package var wholeSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}
