internal import HTTPWire
internal import SettingsModel

/// What reading something that may change comes to at one moment: an answer, and what that goes by.
struct Shown: Sendable {
    /// What the answer goes by; nil if the suite does not exist.
    let tag: Revision?
    /// Where the value of a setting comes from.
    let source: Source?
    /// Whether there is nothing to show, so that the answer is why.
    let isRefusal: Bool
    /// The answer, still to be made.
    let rendering: Rendering

    init(tag: Revision, source: Source? = nil, weight: Int = 1, _ make: @escaping @Sendable () -> Response) {
        self.tag = tag
        self.source = source
        isRefusal = false
        rendering = Rendering(weight: weight, make: make)
    }

    /// Why nothing can be shown at present.
    init(refusal: Response, tag: Revision) {
        self.init(tag, refusal)
    }

    /// That there is no such suite.
    init(absent problem: Problem, _ cursor: Cursor) {
        self.init(nil, Response(problem, cursor: cursor))
    }

    private init(_ tag: Revision?, _ refusal: Response) {
        self.tag = tag
        source = nil
        isRefusal = true
        rendering = Rendering(refusal)
    }

    /// Whether this is what somebody knows who came with these tags: a refusal, too, to whom it is said again.
    func isKnown(by tags: TagList?) -> Bool {
        guard let tags else { return isRefusal }
        guard let tag else { return true }
        return tags.matches(tag)
    }

    /// The answer to somebody who came with these tags. A refusal is said again, and never called unmodified.
    func answer(to tags: TagList?, _ cursor: Cursor) -> Rendering {
        guard !isRefusal, let tag, tags?.matches(tag) ?? false else { return rendering }
        var response = Response(notModified: tag, cursor: cursor)
        if let source { response.fields.append(source: source) }
        return Rendering(response)
    }
}

/// A reading that can be done again whenever something changes.
enum Reading: Hashable, Sendable {
    case setting(SettingEndpoint)
    case suite(SuiteReading)

    func shown(on state: State) throws(Problem) -> Shown {
        switch self {
        case .setting(let setting): try setting.shown(on: state)
        case .suite(let suite): suite.shown(on: state)
        }
    }

    /// What is read, for a message.
    var description: String {
        switch self {
        case .setting(let setting): "\(setting.key) of suite \(setting.suite)"
        case .suite(let suite): "suite \(suite.name)"
        }
    }

    /// What is read as it is, for a caller whose `If-Match` does not hold.
    func current(on state: State) -> Problem.Current {
        switch self {
        case .setting(let setting): state.current(setting.suite, setting.key)
        case .suite(let suite):
            .suite(SuiteRevision(suite: suite.name, revision: state.suite(suite.name)?.revision ?? .zero))
        }
    }

    /// Which commits may make another answer of it.
    var subject: WatchSubject {
        switch self {
        case .setting(let setting): WatchSubject(setting.suite, KeyFilter(keys: [setting.key], prefixes: []))
        case .suite(let suite): WatchSubject(suite.name)
        }
    }
}
