internal import HTTPWire
internal import SettingsModel

/// The request that there are most of: one setting, by a path without escapes, without parameters and conditions.
///
/// It is found by the bytes of the path, without making names of them, and answered in the same words as in any other
/// way. Whatever is out of the ordinary is left to the ordinary way.
struct QuickSetting {
    private let store: Store
    /// The fields that answers have in common, as long as nothing is committed.
    private var common: (cursor: Cursor, fields: FieldBlock)

    init(_ store: Store) {
        self.store = store
        let cursor = store.state.cursor
        common = (cursor, FieldBlock(cursor: cursor, tag: nil))
    }

    /// What was found, taken along out of the lock.
    private struct Found {
        let suite: SuiteName
        let schema: SchemaVersion?
        let record: KeyRecord
        let cursor: Cursor
    }

    /// The answer, if the request is such a one and something valid is stored.
    mutating func answer(_ head: RequestHead, _ bytes: Span<UInt8>) -> Response? {
        guard head.method == .get || head.method == .head, head.query == nil, head.field(.ifNoneMatch) == nil,
            head.field(.ifMatch) == nil, let route = Route(head.path, in: bytes), let suite = route.suite,
            let key = route.key,
            let found = find(bytes.extracting(suite), bytes.extracting(key)), found.record.standing == .stored,
            let value = found.record.stored
        else { return nil }
        if found.cursor != common.cursor {
            common = (found.cursor, FieldBlock(cursor: found.cursor, tag: nil))
        }
        var setting = SettingState(
            suite: found.suite, key: found.record.key, value: value, source: .stored, revision: found.record.revision,
            modified: found.record.modified)
        setting.isSecret = found.record.isSecret || found.schema?.schema.key(found.record.name)?.isSecret ?? false
        var writer = JSONWriter(reservingCapacity: 192)
        setting.write(to: &writer)
        var fields = common.fields
        fields.append(tag: found.record.revision)
        fields.append("Settings-Source", "stored")
        return Response(status: 200, contentType: .json, fields: fields, body: writer.bytes)
    }

    /// Looks the names up as they were sent. One with escapes is not found, since no name of a suite and hardly any key
    /// has a percent sign; a key that has one is not taken for another.
    private func find(_ suite: Span<UInt8>, _ key: Span<UInt8>) -> Found? {
        for index in key.indices where key[index] == UInt8(ascii: "%") { return nil }
        return store.read { state in
            let cursor = state.cursor
            let found = state.suites.with(suite) { suite in
                suite.records.find(key).map { record in
                    Found(suite: suite.id, schema: suite.schema, record: record, cursor: cursor)
                }
            }
            return found ?? nil
        }
    }
}
