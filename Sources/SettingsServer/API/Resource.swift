internal import HTTPWire

/// What can be asked for, each with its path, its methods and the parameters of those.
///
/// The one table that the router, the errors for wrong methods and parameters, and the API description are made of.
enum Resource: String, CaseIterable, Sendable {
    case service = "/v1"
    case suites = "/v1/suites"
    case suite = "/v1/suites/{suite}"
    case keys = "/v1/suites/{suite}/keys"
    case setting = "/v1/suites/{suite}/keys/{key}"
    case schema = "/v1/suites/{suite}/schema"
    case observation = "/v1/suites/{suite}/observe"
    case observationOfSeveral = "/v1/observe"
    case transaction = "/v1/transaction"
    case health = "/healthz"
    case ready = "/readyz"
    case metrics = "/metrics"
    case description = "/openapi.json"

    /// The methods that do something, without HEAD and OPTIONS, which come by themselves.
    var methods: [Method] {
        switch self {
        case .service, .suites, .keys, .observation, .observationOfSeveral, .health, .ready, .metrics, .description:
            [.get]
        case .suite, .setting: [.get, .put, .patch, .delete]
        case .schema: [.get, .put, .delete]
        case .transaction: [.post]
        }
    }

    /// What `Allow` says.
    var allowed: [String] {
        let names = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.name] }
        return names + ["OPTIONS"]
    }

    /// What `Allow` says of the server as a whole.
    static var allowedSomewhere: [String] {
        var names: [String] = []
        for name in allCases.flatMap(\.allowed) where !names.contains(name) { names.append(name) }
        return names
    }

    /// Whether a request with this method is answered by this resource.
    func allows(_ method: Method) -> Bool {
        methods.contains(method == .head ? .get : method) || method == .options
    }
}

/// A parameter of a query.
struct Parameter: Sendable {
    /// What its value is.
    enum Kind: Sendable {
        /// Bare, or `true` or `false`.
        case flag
        /// Any text.
        case text
        /// The name of a suite.
        case suite
        /// A text that is not empty.
        case filledText
        /// The name of a key.
        case key
        /// A place in history: a cursor or a revision.
        case place
        /// A revision.
        case revision
        /// A number of things, within bounds.
        case count(ClosedRange<Int>)
        /// One of these words.
        case choice([String])
    }

    let name: String
    let kind: Kind
    let summary: String
    /// Whether it may be given several times.
    let isRepeatable: Bool

    init(_ name: String, _ kind: Kind, _ summary: String, isRepeatable: Bool = false) {
        self.name = name
        self.kind = kind
        self.summary = summary
        self.isRepeatable = isRepeatable
    }
}

extension Resource {
    /// The parameters that a method knows here. Any other is refused.
    func parameters(of method: Method) -> [Parameter] {
        switch (self, method) {
        case (.suites, .get), (.suites, .head): [.prefix, .limit, .afterSuite]
        case (.suite, .get), (.suite, .head): [.prefix, .view, .at, .raw, .wait]
        case (.suite, .delete): [.prefixToRemove, .drop, .dryRun, .override]
        case (.suite, .put), (.suite, .patch): [.dryRun, .override]
        case (.keys, .get), (.keys, .head): [.prefix, .limit, .afterKey, .at]
        case (.setting, .get), (.setting, .head): [.raw, .wait]
        case (.setting, .put), (.setting, .patch), (.setting, .delete): [.dryRun, .override]
        case (.schema, .put): [.onConflict, .dryRun]
        case (.schema, .delete): [.dryRun]
        case (.transaction, .post): [.dryRun, .override]
        case (.observation, .get), (.observation, .head): Self.watching
        case (.observationOfSeveral, .get), (.observationOfSeveral, .head):
            [.watchedSuite, .watchedSuitePrefix] + Self.watching
        // Whoever asks what may be done at a target may ask with that of the request to come.
        case (_, .options): ofAnyMethod
        default: []
        }
    }

    private static let watching: [Parameter] = [.since, .wait, .watchedKey, .watchedPrefix, .changeLimit, .latest]

    private var ofAnyMethod: [Parameter] {
        var known: [Parameter] = []
        for parameter in methods.flatMap({ parameters(of: $0) })
        where !known.contains(where: { $0.name == parameter.name }) {
            known.append(parameter)
        }
        return known
    }
}

extension Parameter {
    static let mostListed = 100_000

    static let prefix = Parameter("prefix", .text, "Only what begins with this text, taken literally.")
    static let prefixToRemove = Parameter(
        "prefix", .filledText, "Remove only keys that begin with this text, which may not be empty.")
    static let limit = Parameter("limit", .count(1...mostListed), "How many to list at most.")
    static let afterSuite = Parameter("after", .text, "List what comes after this suite: `next` of the page before.")
    static let afterKey = Parameter("after", .text, "List what comes after this key: `next` of the page before.")
    static let view = Parameter(
        "view", .choice(SuiteView.allCases.map(\.rawValue)), "Stored values, defaults, or what readers get of both.")
    static let at = Parameter("at", .revision, "As it was after the commit of this revision.")
    static let raw = Parameter("raw", .flag, "The bare value, without what is known about it.")
    static let dryRun = Parameter("dryRun", .flag, "Answer what would be answered, and change nothing.")
    static let override = Parameter("override", .choice(["locked"]), "Write read-only keys too.")
    static let drop = Parameter("drop", .flag, "Remove the suite itself, with its schema.")
    static let wait = Parameter(
        "wait", .count(0...300), "How many seconds to wait for another answer than the one that is known.")
    static let since = Parameter(
        "since", .place, "The cursor of the last answer, or a bare revision: tell what happened after it.")
    static let watchedSuite = Parameter("suite", .suite, "A suite to observe.", isRepeatable: true)
    static let watchedSuitePrefix = Parameter(
        "suitePrefix", .text, "All suites that begin with this text, which may be empty, as they come and go.",
        isRepeatable: true)
    static let watchedKey = Parameter("key", .key, "Only this key.", isRepeatable: true)
    static let watchedPrefix = Parameter(
        "prefix", .text, "Only keys that begin with this text, beside those named.", isRepeatable: true)
    static let changeLimit = Parameter(
        "limit", .count(1...mostListed), "How many changes to tell at most; a commit is never cut.")
    static let latest = Parameter(
        "latest", .flag, "Tell each key once, from before its first change to after its last.")
    static let onConflict = Parameter(
        "onConflict", .choice(["keep", "reset"]), "What becomes of stored values that do not fit: kept or removed.")
}

extension Method {
    /// Whether it only reads.
    var isSafe: Bool { self == .get || self == .head || self == .options }

    /// The method's token.
    var name: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .put: "PUT"
        case .post: "POST"
        case .delete: "DELETE"
        case .patch: "PATCH"
        case .options: "OPTIONS"
        case .other: ""
        }
    }
}
