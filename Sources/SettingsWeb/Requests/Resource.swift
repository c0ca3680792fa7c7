internal import HTTPWire
internal import SettingsEngine

/// A resource of the interface: its path, its methods and their parameters.
///
/// The one table that the router and the errors for wrong methods and parameters go by. A test holds `openapi.json` to it.
enum Resource: String, CaseIterable, Sendable, BitwiseCopyable {
    case service = "/v1"
    case suites = "/v1/suites"
    case suite = "/v1/suites/{suite}"
    case keys = "/v1/suites/{suite}/keys"
    case setting = "/v1/suites/{suite}/keys/{key}"
    case schema = "/v1/suites/{suite}/schema"
    case observation = "/v1/suites/{suite}/observe"
    case history = "/v1/suites/{suite}/history"
    case difference = "/v1/suites/{suite}/diff"
    case undo = "/v1/suites/{suite}/undo"
    case restore = "/v1/suites/{suite}/restore"
    case evaluation = "/v1/suites/{suite}/ofrep/v1/evaluate/flags/{key}"
    case evaluationOfAll = "/v1/suites/{suite}/ofrep/v1/evaluate/flags"
    case evaluationEvents = "/v1/suites/{suite}/ofrep/v1/events"
    case observationOfSeveral = "/v1/observe"
    case transaction = "/v1/transaction"
    case undoOfSeveral = "/v1/undo"
    case caller = "/v1/caller"
    case reload = "/v1/reload"
    case backup = "/v1/backup"
    case cluster = "/v1/cluster"
    case health = "/healthz"
    case ready = "/readyz"
    case metrics = "/metrics"
    case description = "/openapi.json"

    /// The methods, without HEAD (which goes with GET) and OPTIONS (which all have).
    var methods: [Method] {
        switch self {
        case .service, .suites, .keys, .observation, .observationOfSeveral, .history, .difference, .evaluationEvents,
            .caller, .backup, .cluster, .health, .ready, .metrics, .description:
            [.get]
        case .suite, .setting: [.get, .put, .patch, .delete]
        case .schema: [.get, .put, .delete]
        case .undo, .restore, .transaction, .undoOfSeveral, .reload, .evaluation, .evaluationOfAll: [.post]
        }
    }

    /// The methods as `Allow` lists them.
    var allowed: [String] {
        let names = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.name] }
        return names + ["OPTIONS"]
    }

    /// The methods of any resource, for `OPTIONS *`.
    static var allowedSomewhere: [String] {
        var names: [String] = []
        for name in allCases.flatMap(\.allowed) where !names.contains(name) { names.append(name) }
        return names
    }

    func allows(_ method: Method) -> Bool {
        methods.contains(method == .head ? .get : method) || method == .options
    }

    /// True if a request only reads. The evaluation of a flag does, though it is sent with POST.
    func isRead(by method: Method) -> Bool { method.isSafe || self == .evaluation || self == .evaluationOfAll }

    /// True if it is one of OpenFeature's protocol, whose errors have a form of their own.
    var isOpenFeature: Bool {
        self == .evaluation || self == .evaluationOfAll || self == .evaluationEvents
    }
}

/// A parameter of a query.
struct Parameter: Sendable {
    enum Kind: Sendable {
        /// Bare, or `true` or `false`.
        case flag
        case text
        case suite
        case filledText
        case key
        /// A place in history: a cursor or a revision.
        case place
        case revision
        /// A revision or an instant.
        case moment
        case count(ClosedRange<Int>)
        case choice([String])
    }

    let name: String
    let kind: Kind
    let isRepeatable: Bool

    init(_ name: String, _ kind: Kind, isRepeatable: Bool = false) {
        self.name = name
        self.kind = kind
        self.isRepeatable = isRepeatable
    }
}

extension Resource {
    /// The parameters that a method knows here. Any other is refused.
    func parameters(of method: Method) -> [Parameter] {
        switch (self, method) {
        case (.suites, .get), (.suites, .head): [.prefix, .limit, .after]
        case (.suite, .get), (.suite, .head): [.prefix, .view, .at, .raw, .wait]
        case (.suite, .delete): [.prefixToRemove, .drop, .dryRun, .override]
        case (.suite, .put), (.suite, .patch): [.dryRun, .override]
        case (.keys, .get), (.keys, .head): [.prefix, .limit, .after, .at]
        case (.setting, .get), (.setting, .head): [.raw, .wait, .at]
        case (.schema, .get), (.schema, .head): [.at]
        case (.history, .get), (.history, .head): [.watchedKey, .prefix, .before, .historyLimit, .by]
        case (.difference, .get), (.difference, .head): [.from, .to]
        case (.undo, .post), (.undoOfSeveral, .post): [.onConflict, .dryRun, .override]
        case (.restore, .post): [.onRestoreConflict, .dryRun, .override]
        case (.setting, .put), (.setting, .patch), (.setting, .delete): [.dryRun, .override]
        case (.schema, .put): [.onConflict, .dryRun]
        case (.schema, .delete): [.dryRun]
        case (.transaction, .post): [.dryRun, .override]
        case (.evaluationOfAll, .post): [.flagTag, .flagTime]
        case (.observation, .get), (.observation, .head): Self.watching
        case (.observationOfSeveral, .get), (.observationOfSeveral, .head):
            [.watchedSuite, .watchedSuitePrefix] + Self.watching
        // OPTIONS may have the target of the request to come.
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

    static let prefix = Parameter("prefix", .text)
    static let prefixToRemove = Parameter("prefix", .filledText)
    static let limit = Parameter("limit", .count(1...mostListed))
    static let after = Parameter("after", .text)
    static let view = Parameter("view", .choice(SuiteView.allCases.map(\.rawValue)))
    static let at = Parameter("at", .moment)
    static let before = Parameter("before", .revision)
    static let historyLimit = Parameter("limit", .count(1...1000))
    static let by = Parameter("by", .filledText)
    static let from = Parameter("from", .moment)
    static let to = Parameter("to", .moment)
    static let raw = Parameter("raw", .flag)
    static let dryRun = Parameter("dryRun", .flag)
    static let override = Parameter("override", .choice(["locked"]))
    static let drop = Parameter("drop", .flag)
    static let wait = Parameter("wait", .count(0...300))
    static let since = Parameter("since", .place)
    static let watchedSuite = Parameter("suite", .suite, isRepeatable: true)
    static let watchedSuitePrefix = Parameter("suitePrefix", .text, isRepeatable: true)
    static let watchedKey = Parameter("key", .key, isRepeatable: true)
    static let watchedPrefix = Parameter("prefix", .text, isRepeatable: true)
    static let changeLimit = Parameter("limit", .count(1...mostListed))
    static let latest = Parameter("latest", .flag)
    static let flagTag = Parameter("flagConfigEtag", .text)
    static let flagTime = Parameter("flagConfigLastModified", .text)
    static let onConflict = Parameter("onConflict", .choice(["keep", "reset"]))
    static let onRestoreConflict = Parameter("onConflict", .choice(["skip"]))
}

extension Method {
    /// True if it only reads.
    var isSafe: Bool { self == .get || self == .head || self == .options }

    var name: String { "\(text)" }
}
