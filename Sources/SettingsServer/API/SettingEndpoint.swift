internal import HTTPWire
internal import SettingsModel

/// Reading one setting: its effective value, or why there is none.
struct SettingEndpoint: Hashable, Sendable {
    let suite: SuiteName
    let key: KeyName
    /// Whether the bare value is wanted.
    let isRaw: Bool

    init(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) {
        suite = try incoming.suite(in: bytes)
        key = try incoming.key(in: bytes)
        isRaw = incoming.query.flag(.raw)
    }

    func shown(on state: State) throws(Problem) -> Shown {
        guard let suite = state.suite(suite) else { return Shown(absent: state.unknownSuite(self.suite), state.cursor) }
        let record = suite.record(key)
        guard suite.admits(key) || record.stored != nil else { throw suite.unknownKey(key) }
        switch record.standing {
        case .unset: return refusal(suite.notSet(key), record, state.cursor)
        case .invalid: return refusal(suite.invalidStored(record), record, state.cursor)
        case .stored, .default: break
        }
        let (cursor, isRaw) = (state.cursor, isRaw)
        return Shown(tag: record.revision, source: record.standing.source) {
            let setting = suite.setting(record)
            var response =
                isRaw
                ? Response(raw: setting.value ?? .null, cursor: cursor, tag: record.revision)
                : Response(json: setting.jsonBytes(), cursor: cursor, tag: record.revision)
            response.fields.append(source: setting.source)
            return response
        }
    }

    private func refusal(_ problem: Problem, _ record: KeyRecord, _ cursor: Cursor) -> Shown {
        var response = Response(problem, cursor: cursor, tag: record.revision)
        response.fields.append(source: record.standing.source)
        return Shown(refusal: response, tag: record.revision)
    }
}

extension Response {
    /// A bare value: a string as text without quotation marks, anything else as JSON.
    init(raw value: JSONValue, cursor: Cursor, tag: Revision) {
        if case .string(let text) = value {
            self.init(
                status: 200, contentType: .text, fields: FieldBlock(cursor: cursor, tag: tag), body: Array(text.utf8))
        } else {
            self.init(json: value.jsonBytes(), cursor: cursor, tag: tag)
        }
    }
}
