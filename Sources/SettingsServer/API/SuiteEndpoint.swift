internal import HTTPWire
internal import SettingsModel

/// An answer that has still to be made, from what it needs for that and nothing else.
struct Rendering: Sendable {
    /// How many settings are written on a loop at a time.
    static let mostOnLoop = 4096

    /// How many settings have to be written: whether it is done on the loop or beside it.
    let weight: Int
    /// Makes the answer; on any thread.
    let make: @Sendable () -> Response

    init(weight: Int, make: @escaping @Sendable () -> Response) {
        self.weight = weight
        self.make = make
    }

    /// One that is made already.
    init(_ response: Response) {
        self.init(weight: 0) { response }
    }
}

/// Reading suites: all of them by name, one of them whole, its keys.
struct SuiteEndpoint {
    let state: State

    /// The names of the suites with what is known of each.
    func list(_ incoming: Incoming) -> Rendering {
        let prefix = incoming.query.text(.prefix) ?? ""
        let after = incoming.query.text(.afterSuite)
        let limit = incoming.query.count(.limit)
        return Rendering(weight: min(limit ?? Int.max, state.suites.count)) {
            let listing = state.listing(prefix: prefix, after: after, limit: limit ?? Int.max)
            return Response(json: listing.jsonBytes(), cursor: state.cursor)
        }
    }

    /// The values of a suite as it was after a commit of the past.
    func past(_ incoming: Incoming, at moment: Revision, _ bytes: Span<UInt8>) throws(Problem) -> Rendering {
        let reading = try SuiteReading(incoming, bytes)
        return try show(incoming, bytes, weight: \.records.count) { suite, state in
            reading.response(suite, at: Cursor(epoch: state.epoch, revision: moment), now: state.cursor)
        }
    }

    /// The keys of a suite with all that is known of each.
    func keys(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) -> Rendering {
        let after = incoming.query.text(.afterKey)
        let prefix = incoming.query.text(.prefix) ?? ""
        let limit = incoming.query.count(.limit) ?? Int.max - 1
        return try show(incoming, bytes, weight: { min(limit, $0.keyCount) }) { suite, state in
            let listing = suite.listing(prefix: prefix, after: after, limit: limit)
            return Response(json: listing.jsonBytes(), cursor: state.cursor, tag: suite.revision)
        }
    }

    /// The suite that the path names, as it is or as it was, shown in some way unless the caller has it already.
    private func show(
        _ incoming: Incoming, _ bytes: Span<UInt8>, weight: (Suite) -> Int,
        _ response: @escaping @Sendable (Suite, State) -> Response
    ) throws(Problem) -> Rendering {
        let name = try incoming.suite(in: bytes)
        let known = try incoming.knownTags(in: bytes)
        let wanted = try incoming.ifMatch(in: bytes)
        guard let moment = incoming.query.revision(.at) else {
            guard let suite = state.suite(name) else { throw state.unknownSuite(name) }
            try wanted?.check(suite)
            let isKnown = known?.matches(suite.revision) ?? false
            return Rendering(weight: isKnown ? 0 : weight(suite)) {
                isKnown ? Response(notModified: suite.revision, cursor: state.cursor) : response(suite, state)
            }
        }
        // However small the suite is, all of the history may have to be gone through: not on the loop.
        return Rendering(weight: .max) {
            do throws(Problem) {
                guard let suite = try state.suite(name, at: moment) else { throw state.unknownSuite(name, at: moment) }
                try wanted?.check(suite)
                let isKnown = known?.matches(suite.revision) ?? false
                return isKnown ? Response(notModified: suite.revision, cursor: state.cursor) : response(suite, state)
            } catch {
                return Response(error, cursor: state.cursor)
            }
        }
    }
}

extension WriteRequest.Guard {
    /// Refuses to show a suite that an `If-Match` does not hold of.
    fileprivate func check(_ suite: Suite) throws(Problem) {
        let (name, revision) = (suite.id, suite.revision)
        try check("suite \(name)", at: revision, current: .suite(SuiteRevision(suite: name, revision: revision)))
    }
}

/// Reading the values of a suite.
struct SuiteReading: Hashable, Sendable {
    let name: SuiteName
    private let view: SuiteView
    private let prefix: UTF8Text
    /// Whether the bare map is wanted.
    private let isRaw: Bool

    init(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) {
        name = try incoming.suite(in: bytes)
        view = incoming.query.text(.view).flatMap { SuiteView(rawValue: $0) } ?? .effective
        prefix = UTF8Text(incoming.query.text(.prefix) ?? "")
        isRaw = incoming.query.flag(.raw)
    }

    func shown(on state: State) -> Shown {
        guard let suite = state.suite(name) else { return Shown(absent: state.unknownSuite(name), state.cursor) }
        let (reading, cursor) = (self, state.cursor)
        return Shown(tag: suite.revision, weight: suite.records.count) {
            reading.response(suite, at: cursor, now: cursor)
        }
    }

    /// The suite at a place in history, answered now.
    fileprivate func response(_ suite: Suite, at place: Cursor, now: Cursor) -> Response {
        let contents = suite.contents(view: view, prefix: prefix.string)
        let body =
            isRaw
            ? contents.values.jsonBytes()
            : SuiteState(contents: contents, revision: suite.revision, cursor: place).jsonBytes()
        return Response(json: body, cursor: now, tag: suite.revision)
    }
}

extension [SuiteContents.Entry] {
    /// The bare map.
    fileprivate func jsonBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for entry in self {
            writer.name(entry.key.text)
            writer.write(entry.value)
        }
        writer.endObject()
        return writer.bytes
    }
}
