internal import HTTPWire
internal import SettingsEngine

/// A resource of the HTTP API: its path, its methods and their query parameters. A suite is a named set of settings.
/// The router and the errors for wrong methods and parameters use this table. A test compares it with `openapi.json`.
/// The raw values must not change: commits store digests of them, to recognize a request that is sent again.
enum Resource: String, CaseIterable, Sendable, BitwiseCopyable {
    case service = "/v1"
    case suites = "/v1/suites"
    case suite = "/v1/suites/{suite}"
    case keys = "/v1/suites/{suite}/keys"
    case setting = "/v1/suites/{suite}/keys/{key}"
    case schema = "/v1/suites/{suite}/schema"
    case observation = "/v1/suites/{suite}/observe"
    case clients = "/v1/suites/{suite}/clients"
    case client = "/v1/suites/{suite}/clients/{name}"
    case history = "/v1/suites/{suite}/history"
    case difference = "/v1/suites/{suite}/diff"
    case undo = "/v1/suites/{suite}/undo"
    case restore = "/v1/suites/{suite}/restore"
    case evaluation = "/v1/suites/{suite}/ofrep/v1/evaluate/flags/{key}"
    case evaluationOfAll = "/v1/suites/{suite}/ofrep/v1/evaluate/flags"
    case evaluationEvents = "/v1/suites/{suite}/ofrep/v1/events"
    case observationOfSuites = "/v1/observe"
    case transaction = "/v1/transaction"
    case undoInSuites = "/v1/undo"
    case pending = "/v1/pending"
    case pendingAction = "/v1/pending/{id}"
    case caller = "/v1/caller"
    case reload = "/v1/reload"
    case backup = "/v1/backup"
    case cluster = "/v1/cluster"
    case health = "/healthz"
    case ready = "/readyz"
    case metrics = "/metrics"
    case apiDescription = "/openapi.json"

    /// The methods except HEAD, which every resource with GET supports, and OPTIONS, which every resource supports.
    var methods: [Method] {
        switch self {
        case .service, .suites, .keys, .observation, .observationOfSuites, .clients, .history, .difference,
            .evaluationEvents, .pending, .caller, .backup, .cluster, .health, .ready, .metrics, .apiDescription:
            [.get]
        case .client: [.put]
        case .suite, .setting: [.get, .put, .patch, .delete]
        case .schema: [.get, .put, .delete]
        case .pendingAction: [.get, .post]
        case .undo, .restore, .transaction, .undoInSuites, .reload, .evaluation, .evaluationOfAll: [.post]
        }
    }

    /// The methods as the field `Allow` lists them, including HEAD and OPTIONS.
    var allowed: [String] {
        let names = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.name] }
        return names + ["OPTIONS"]
    }

    /// The methods that at least one resource supports: the answer to `OPTIONS *`.
    static var methodsOfAllResources: [String] {
        var names: [String] = []
        for name in allCases.flatMap(\.allowed) where !names.contains(name) { names.append(name) }
        return names
    }

    func allows(_ method: Method) -> Bool { methods.contains(method == .head ? .get : method) || method == .options }

    /// True if a request with this method changes nothing. An evaluation of OpenFeature reads, although it uses POST.
    func isRead(by method: Method) -> Bool { method.isSafe || self == .evaluation || self == .evaluationOfAll }

    /// True for resources of OpenFeature's remote evaluation protocol (OFREP), which has its own format for errors.
    var isOpenFeature: Bool { self == .evaluation || self == .evaluationOfAll || self == .evaluationEvents }
}

/// A query parameter.
struct Parameter: Sendable {
    enum Kind: Sendable {
        /// `true`, `false`, or no value, which means true.
        case flag
        /// Any text, which may be empty.
        case text
        case suite, key, client, revision, nonEmptyText
        /// An epoch, which names a history, and a revision.
        case cursor
        /// A revision (the number of a commit), or a cursor (an epoch, which names a history, and a revision). A
        /// watcher, which is a request that waits for changes, gets the changes after the resume point.
        case resumePoint
        /// A revision, or a date and time.
        case moment
        case count(ClosedRange<Int>)
        /// A decimal number from 0 to 1.
        case share
        case choice([String])
    }

    let name: String
    let kind: Kind
    /// True if a query may contain the parameter several times, each time with one value.
    let isRepeatable: Bool

    init(_ name: String, _ kind: Kind, isRepeatable: Bool = false) {
        (self.name, self.kind, self.isRepeatable) = (name, kind, isRepeatable)
    }
}

extension Resource {
    /// The query parameters that a method of this resource accepts. A request with another parameter is refused.
    func parameters(of method: Method) -> [Parameter] {
        switch (self, method) {
        case (.suites, .get), (.suites, .head): [.prefix, .limit, .after, .dropped]
        case (.suite, .get), (.suite, .head): [.prefix, .view, .at, .raw, .wait] + Self.reportParameters
        case (.suite, .delete): [.prefixToRemove, .drop, .dryRun, .override]
        case (.suite, .put), (.suite, .patch): [.dryRun, .override]
        case (.keys, .get), (.keys, .head): [.prefix, .limit, .after, .at]
        case (.setting, .get), (.setting, .head): [.raw, .wait, .at] + Self.reportParameters
        case (.schema, .get), (.schema, .head): [.at]
        case (.history, .get), (.history, .head): [.filterKey, .prefix, .before, .historyLimit, .by]
        case (.difference, .get), (.difference, .head): [.from, .to]
        case (.undo, .post), (.undoInSuites, .post): [.onConflict, .dryRun, .override]
        case (.restore, .post): [.onRestoreConflict, .dryRun, .override]
        case (.setting, .put), (.setting, .patch), (.setting, .delete): [.dryRun, .override]
        case (.schema, .put): [.onConflict, .dryRun]
        case (.schema, .delete): [.dryRun]
        case (.transaction, .post): [.dryRun, .override]
        case (.pending, .get), (.pending, .head): [.pendingSuite]
        case (.pendingAction, .post): [.dryRun]
        case (.evaluationOfAll, .post): [.flagTag, .flagTime]
        case (.observation, .get), (.observation, .head): Self.watchParameters
        case (.clients, .get), (.clients, .head): [.behind, .target, .share, .wait]
        case (.observationOfSuites, .get), (.observationOfSuites, .head):
            [.watchedSuite, .watchedSuitePrefix] + Self.watchParameters
        // A browser sends a preflight request (OPTIONS) before a request of a page, with the query of that request.
        case (_, .options): parametersOfAllMethods
        default: []
        }
    }

    private static let watchParameters =
        [Parameter.since, .wait, .filterKey, .filterPrefix, .changeLimit, .latest] + reportParameters
    /// The parameters with which a client reports the state that it has applied.
    private static let reportParameters = [Parameter.client, .applied, .failed, .reason]

    private var parametersOfAllMethods: [Parameter] {
        var known: [Parameter] = []
        for parameter in methods.flatMap({ parameters(of: $0) })
        where !known.contains(where: { $0.name == parameter.name }) {
            known.append(parameter)
        }
        return known
    }
}

// Parameters with the same name accept different values on different resources, such as `limit`.
extension Parameter {
    private static let maximumLimit = 100_000

    static let prefix = Parameter("prefix", .text)
    /// Empty text is refused, because it would remove all keys of the suite.
    static let prefixToRemove = Parameter("prefix", .nonEmptyText)
    static let limit = Parameter("limit", .count(1...maximumLimit))
    /// The last name on the previous page of a list.
    static let after = Parameter("after", .text)
    /// Which values of a suite the answer has.
    static let view = Parameter("view", .choice(SuiteView.allCases.map(\.rawValue)))
    /// Reads a past version.
    static let at = Parameter("at", .moment)
    /// Lists only the commits before this revision.
    static let before = Parameter("before", .revision)
    static let historyLimit = Parameter("limit", .count(1...1000))
    /// The name of the caller whose commits are shown.
    static let by = Parameter("by", .nonEmptyText)
    static let from = Parameter("from", .moment)
    static let to = Parameter("to", .moment)
    /// Answers with only the value of the setting, or with only an object of the keys and values of the suite.
    static let raw = Parameter("raw", .flag)
    static let dryRun = Parameter("dryRun", .flag)
    /// `locked`: also changes settings that the schema declares read-only. Requires the right `override`.
    static let override = Parameter("override", .choice(["locked"]))
    /// Removes the suite with its schema. Without this parameter, DELETE removes only stored values.
    static let drop = Parameter("drop", .flag)
    /// Also lists dropped suites of which the daemon still has commits.
    static let dropped = Parameter("dropped", .flag)
    /// The maximum number of seconds that the request waits: for a change, for the revision that `Settings-At-Least` or
    /// `Settings-Fresh` demands, or until clients have applied a state.
    static let wait = Parameter("wait", .count(0...300))
    static let since = Parameter("since", .resumePoint)
    static let watchedSuite = Parameter("suite", .suite, isRepeatable: true)
    static let watchedSuitePrefix = Parameter("suitePrefix", .text, isRepeatable: true)
    /// The name of the suite whose pending actions are listed.
    static let pendingSuite = Parameter("suite", .suite)
    static let filterKey = Parameter("key", .key, isRepeatable: true)
    static let filterPrefix = Parameter("prefix", .text, isRepeatable: true)
    static let changeLimit = Parameter("limit", .count(1...maximumLimit))
    /// Merges all changes of a key into one change.
    static let latest = Parameter("latest", .flag)
    /// The name of the client that reports.
    static let client = Parameter("client", .client)
    /// The state that the client has applied.
    static let applied = Parameter("applied", .cursor)
    /// The state that the client could not apply.
    static let failed = Parameter("failed", .cursor)
    static let reason = Parameter("reason", .text)
    /// Lists only clients that have not applied this state.
    static let behind = Parameter("behind", .cursor)
    /// Waits until clients have applied this state.
    static let target = Parameter("for", .cursor)
    /// The share of the present clients (status not `gone`) for which a request with `for` waits; 1 if absent.
    static let share = Parameter("share", .share)
    // Clients of OpenFeature send these two parameters. The daemon ignores them.
    static let flagTag = Parameter("flagConfigEtag", .text)
    static let flagTime = Parameter("flagConfigLastModified", .text)
    /// If the schema that a PUT or an undo sets does not allow stored values: keeps the values, or removes them.
    static let onConflict = Parameter("onConflict", .choice(["keep", "reset"]))
    /// `skip`: a restore does not change the keys whose restored values the schema does not allow. Without this
    /// parameter, the daemon refuses the restore.
    static let onRestoreConflict = Parameter("onConflict", .choice(["skip"]))
}

extension Method {
    /// True if a request with this method changes nothing (RFC 9110, section 9.2.1).
    var isSafe: Bool { self == .get || self == .head || self == .options }

    var name: String { "\(text)" }
}
