internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The answer to the evaluation of all flags of a suite in OpenFeature's remote evaluation protocol (OFREP): the flags
/// that the caller may see, and the address of the event stream that announces changes. A suite is a named set of
/// settings. A flag is a key of the suite with its value.
struct FlagList: JSONWritable {
    private let suite: Suite
    /// The grants (rights on suites and keys) of a caller that may not read everything; nil if it may read everything.
    private let restrictedGrants: Grants?

    init(_ suite: Suite, for restrictedGrants: Grants?) {
        self.suite = suite
        self.restrictedGrants = restrictedGrants
    }

    /// The seconds after which an idle program closes its event stream. The default of the protocol is also 120.
    private static let inactivityDelay: Int64 = 120

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name(literal: "flags")
        writer.beginArray()
        let canReadAll = restrictedGrants?.canReadAll(of: suite.id) ?? true
        // The method reads one key more than the limit, so the limit must be less than `Int.max`.
        let readable = suite.keys(prefix: "", after: nil, limit: .max - 1) {
            canReadAll || restrictedGrants?.canRead(suite.id, $0) ?? true
        }
        // The right to read a key does not include the right to read its value if the value is secret.
        for record in readable.records where !suite.isHidden(record, from: restrictedGrants) {
            if record.valueSource == .invalid {
                // The schema does not allow the stored value.
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
        self.init(suite, record.key, value, source: record.valueSource.source, revision: record.revision)
    }
}

extension Response {
    /// The error answer to a request: in OpenFeature's format if the path belongs to OpenFeature's protocol.
    init(_ problem: Problem, to head: RequestHead, _ bytes: Span<UInt8>, cursor: Cursor?) {
        self.init(problem, cursor: cursor)
        guard let route = Route(head.path, in: bytes), route.resource.isOpenFeature else { return }
        let key = route.key == nil ? nil : try? route.keyName(in: bytes)
        setBody(EvaluationFailure(problem, ofFlag: key?.text), of: problem)
    }

    /// The error answer to a request for OpenFeature's event stream. It names no flag, because a stream concerns all
    /// flags.
    init(toFlagWatcher problem: Problem, cursor: Cursor?) {
        self.init(problem, cursor: cursor)
        setBody(EvaluationFailure(problem, ofFlag: nil), of: problem)
    }

    private mutating func setBody(_ failure: EvaluationFailure, of problem: Problem) {
        // For a stored value that the schema does not allow, other paths answer 409. The protocol has no 409.
        if problem.code == .invalidStored { status = 400 }
        contentType = .json
        body = failure.jsonBytes().asLine()
    }
}
