internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// All flags of a suite that a reader sees, and where to hear of changes.
struct FlagList: JSONWritable {
    private let suite: Suite
    private let reader: Grants?

    init(_ suite: Suite, for reader: Grants?) {
        self.suite = suite
        self.reader = reader
    }

    /// The seconds without a user after which a program closes its stream: the protocol's own default.
    private static let inactivityDelay: Int64 = 120

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name(literal: "flags")
        writer.beginArray()
        let seesAll = reader?.canReadAll(of: suite.id) ?? true
        let shown = suite.keys(prefix: "", after: nil, limit: .max - 1) {
            seesAll || reader?.canRead(suite.id, $0) ?? true
        }
        for record in shown.records where !suite.isHidden(record, from: reader) {
            if record.standing == .invalid {
                EvaluationFailure(suite.invalidStored(record), ofFlag: record.name).write(to: &writer)
            } else {
                Flag(suite.id, record, value: suite.effectiveValue(of: record)).write(to: &writer)
            }
        }
        writer.endArray()
        writer.name(literal: "eventStreams")
        writer.beginArray()
        writer.beginObject()
        writer.member("type", "sse")
        writer.name(literal: "endpoint")
        writer.beginObject()
        writer.member("requestUri", "/v1/suites/\(suite.id)/ofrep/v1/events")
        writer.endObject()
        writer.member("inactivityDelaySec", Self.inactivityDelay)
        writer.endObject()
        writer.endArray()
        writer.name(literal: "metadata")
        writer.beginObject()
        writer.member("suite", suite.id)
        writer.member("revision", suite.revision)
        writer.endObject()
        writer.endObject()
    }
}

extension Flag {
    init(_ suite: SuiteName, _ record: KeyRecord, value: JSONValue?) {
        self.init(suite, record.key, value, source: record.standing.source, revision: record.revision)
    }
}

extension Response {
    /// An error in the form that the path of the request asks for: OpenFeature's on the paths of its protocol.
    init(_ problem: Problem, to head: RequestHead, _ bytes: Span<UInt8>, cursor: Cursor?) {
        self.init(problem, cursor: cursor)
        guard let route = Route(head.path, in: bytes), route.resource.isOpenFeature else { return }
        let key = route.key == nil ? nil : try? route.keyName(in: bytes)
        become(EvaluationFailure(problem, ofFlag: key?.text), of: problem)
    }

    /// An error in OpenFeature's form, of no flag.
    init(toFlagObserver problem: Problem, cursor: Cursor?) {
        self.init(problem, cursor: cursor)
        become(EvaluationFailure(problem, ofFlag: nil), of: problem)
    }

    private mutating func become(_ failure: EvaluationFailure, of problem: Problem) {
        // The protocol has no 409: a value that cannot be read is an error of the evaluation.
        if problem.code == .invalidStored { status = 400 }
        contentType = .json
        body = failure.jsonBytes()
    }
}
