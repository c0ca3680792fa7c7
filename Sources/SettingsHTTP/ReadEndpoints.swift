internal import HTTPWire
public import SettingsAPI
public import SettingsModel

extension Endpoint where Output == ServiceDescription {
    /// The name, the version and the current cursor of the daemon.
    public static var service: Endpoint { Endpoint(Request(.get, RequestTarget("v1"))) }
}

extension Endpoint where Output == CallerState {
    /// The caller as the daemon knows it: its name, its grants, and when its credential ends.
    public static var caller: Endpoint { Endpoint(Request(.get, RequestTarget("v1", "caller"))) }
}

extension Endpoint where Output == ReloadReport {
    /// Has the daemon read its configuration again, all or nothing. Needs the right `reload`.
    public static var reload: Endpoint { Endpoint(Request(.post, RequestTarget("v1", "reload"))) }
}

extension Endpoint where Output == Void {
    /// Succeeds if the process works.
    public static var health: Endpoint { Endpoint(Request(.get, RequestTarget("healthz"))) { _ in } }

    /// Succeeds if the daemon accepts writes now. Otherwise throws the reason.
    public static var readiness: Endpoint { Endpoint(Request(.get, RequestTarget("readyz"))) { _ in } }
}

extension Endpoint where Output == String {
    /// The counters of the daemon, in the text form of Prometheus. Needs the right `metrics`.
    public static var metrics: Endpoint {
        Endpoint(Request(.get, RequestTarget("metrics"))) { String(decoding: $0.response.body, as: UTF8.self) }
    }
}

extension Endpoint where Output == JSONValue {
    /// The description of the interface for programs, an OpenAPI document.
    public static var interfaceDescription: Endpoint {
        Endpoint(Request(.get, RequestTarget("openapi.json"))) { reply throws(SettingsError) in try reply.json() }
    }
}

extension Endpoint where Output == Answer<SuiteListing> {
    /// A page of the suites. When there are more, `next` is where to go on: as `after`.
    public static func suites(prefix: String? = nil, after: SuiteName? = nil, limit: Int? = nil) -> Endpoint {
        let target = RequestTarget("v1", "suites").with("prefix", prefix).with("after", after?.text)
            .with("limit", limit.map(String.init))
        return Endpoint(Request(.get, target)) { reply throws(SettingsError) in try reply.answer() }
    }
}

extension Endpoint where Output == [SuiteListing.Entry] {
    /// All suites, page by page. What changes meanwhile may be seen in the one page and not in the next.
    public static func allSuites(prefix: String? = nil) -> Endpoint {
        .all(page: { .suites(prefix: prefix, after: $0) }, content: { ($0.suites, $0.next) })
    }
}

extension Endpoint where Output == SuiteState {
    /// The values of a suite, or of its keys that begin with a prefix; with `at`, as it was then.
    public static func suite(
        _ suite: SuiteName, view: ValueView = .effective, prefix: String? = nil, at moment: Moment? = nil
    ) -> Endpoint {
        let target = RequestTarget.suite(suite).with("view", view == .effective ? nil : view.rawValue)
            .with("prefix", prefix).with("at", moment?.text)
        return Endpoint(Request(.get, target))
    }
}

extension Endpoint where Output == SuiteState? {
    /// The suite once it is at another revision than this one; nil if it still is after the wait.
    public static func suite(_ suite: SuiteName, changedFrom revision: Revision, wait: Duration? = nil) -> Endpoint {
        .unlessAt(revision, Request(.get, .suite(suite).waiting(wait)), wait: wait) { reply throws(SettingsError) in
            try reply.body()
        }
    }
}

extension Endpoint where Output == Answer<KeyListing> {
    /// A page of the keys of a suite with all that is known of each. When there are more, `next` is where to go on.
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
    /// All keys of a suite, page by page. What changes meanwhile may be seen in the one page and not in the next, unless
    /// it is asked how the suite was at a moment.
    public static func allKeys(of suite: SuiteName, prefix: String? = nil, at moment: Moment? = nil) -> Endpoint {
        .all(
            page: { .keys(of: suite, prefix: prefix, after: $0, at: moment) }, content: { ($0.keys, $0.next) })
    }
}

extension Endpoint where Output == Answer<SettingState> {
    /// One setting. Throws `notSet` if it has no value, and `invalidStored` if what is stored does not match the schema.
    public static func setting(_ key: KeyName, in suite: SuiteName, at moment: Moment? = nil) -> Endpoint {
        Endpoint(Request(.get, .key(key, suite).with("at", moment?.text))) { reply throws(SettingsError) in
            try reply.answer()
        }
    }
}

extension Endpoint where Output == Answer<SettingState>? {
    /// The setting once it is at another revision than this one; nil if it still is after the wait.
    public static func setting(
        _ key: KeyName, in suite: SuiteName, changedFrom revision: Revision, wait: Duration? = nil
    ) -> Endpoint {
        let request = Request(.get, .key(key, suite).waiting(wait))
        return .unlessAt(revision, request, wait: wait) { reply throws(SettingsError) in try reply.answer() }
    }
}

extension Endpoint where Output == SchemaDocument {
    /// The schema of a suite as it was sent. Throws `noSchema` if there is none.
    public static func schema(of suite: SuiteName, at moment: Moment? = nil) -> Endpoint {
        Endpoint(Request(.get, .schema(suite).with("at", moment?.text))) { reply throws(SettingsError) in
            guard let revision = reply.tag else { throw reply.malformed("the response with the schema has no ETag") }
            return SchemaDocument(document: try reply.json(), revision: revision)
        }
    }
}

extension Endpoint where Output == SettingsObservation {
    /// One answer of what happened in a suite: the state without `since`, else all that came after it, as soon as there is
    /// something or the wait is over. With `latest`, the answer contains only the last change of each key.
    public static func observe(
        _ suite: SuiteName, since point: ResumePoint? = nil, wait: Duration? = nil, keys: [KeyName] = [],
        prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Endpoint {
        .observe(
            Watched(scope: .one(suite), keys: keys, prefixes: prefixes), since: point, wait: wait, limit: limit,
            latest: latest)
    }

    /// The same of several suites: those that are named, and all whose names begin with one of `suitePrefixes`, as they
    /// come and go.
    public static func observe(
        _ suites: [SuiteName], suitePrefixes: [String] = [], since point: ResumePoint? = nil, wait: Duration? = nil,
        keys: [KeyName] = [], prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Endpoint {
        .observe(
            Watched(scope: .several(suites, prefixes: suitePrefixes), keys: keys, prefixes: prefixes), since: point,
            wait: wait, limit: limit, latest: latest)
    }

    package static func observe(
        _ watched: Watched, since point: ResumePoint?, wait: Duration?, limit: Int?, latest: Bool
    ) -> Endpoint {
        let target = watched.target.with("since", point?.description).waiting(wait)
            .with("limit", limit.map(String.init)).with(flag: "latest", latest)
        // Without the parameter, the daemon waits for 30 seconds.
        return Endpoint(Request(.get, target), wait: wait ?? .seconds(30))
    }
}

/// The schema of a suite as it was sent to the daemon.
public struct SchemaDocument: Equatable, Sendable {
    /// The document; `Schema` understands it.
    public var document: JSONValue
    /// The commit that set it: the revision for the guard of its next write.
    public var revision: Revision

    package init(document: JSONValue, revision: Revision) {
        self.document = document
        self.revision = revision
    }
}

/// The values of a suite that are asked for.
public enum ValueView: String, Hashable, Sendable {
    /// The stored value, else the default.
    case effective
    /// Stored values alone.
    case stored
    /// Defaults alone.
    case `default`
}

/// The suites that are watched, or some keys of them.
package struct Watched: Equatable, Sendable {
    package enum Scope: Equatable, Sendable {
        case one(SuiteName)
        /// Asked for as several, even if it is one: the answers have another form.
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

    fileprivate func waiting(_ wait: Duration?) -> RequestTarget {
        with("wait", wait.map { String($0.wholeSeconds) })
    }
}

extension Duration {
    /// The seconds that a daemon is asked to wait: rounded up, so that a short wait is none of zero.
    var wholeSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}
