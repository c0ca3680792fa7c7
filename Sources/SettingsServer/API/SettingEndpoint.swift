internal import HTTPWire
internal import SettingsModel

/// Reading one setting.
struct SettingEndpoint {
    let store: Store

    /// The effective value, or why there is none.
    func get(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) -> Response {
        let name = try incoming.suite(in: bytes)
        let key = try incoming.key(in: bytes)
        let state = store.state
        guard let suite = state.suite(name) else { throw state.unknownSuite(name) }
        let record = suite.record(key)
        guard suite.admits(key) || record.stored != nil else { throw suite.unknownKey(key) }
        switch record.standing {
        case .unset: return refusal(suite.notSet(key), record, state.cursor)
        case .invalid: return refusal(suite.invalidStored(record), record, state.cursor)
        case .stored, .default: break
        }
        if try incoming.isNotModified(record.revision, in: bytes) {
            var response = Response(notModified: record.revision, cursor: state.cursor)
            response.fields.append(source: record.standing.source)
            return response
        }
        let setting = suite.setting(record)
        var response =
            incoming.query.flag(.raw)
            ? Response(raw: setting.value ?? .null, cursor: state.cursor, tag: record.revision)
            : Response(json: setting.jsonBytes(), cursor: state.cursor, tag: record.revision)
        response.fields.append(source: setting.source)
        return response
    }

    private func refusal(_ problem: Problem, _ record: KeyRecord, _ cursor: Cursor) -> Response {
        var response = Response(problem, cursor: cursor, tag: record.revision)
        response.fields.append(source: record.standing.source)
        return response
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
