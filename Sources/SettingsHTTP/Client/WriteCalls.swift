package import SettingsAPI
package import SettingsModel

extension APICall where Output == Answer<SettingState> {
    private init(writing request: WireRequest, _ options: WriteOptions) {
        self.init(request.with(options)) { reply throws(SettingsError) in try reply.answer() }
    }

    package static func set(_ key: KeyName, to value: JSONValue, in suite: SuiteName, _ options: WriteOptions)
        -> APICall
    {
        APICall(writing: WireRequest(.put, .key(key, suite), body: value.bytes()), options)
    }

    package static func change(
        _ key: KeyName, by operation: InPlaceOperation, in suite: SuiteName, _ options: WriteOptions
    ) -> APICall {
        APICall(writing: WireRequest(.patch, .key(key, suite), body: operation.jsonBytes()), options)
    }

    package static func remove(_ key: KeyName, in suite: SuiteName, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.delete, .key(key, suite)), options)
    }
}

extension APICall where Output == Answer<WriteSummary> {
    private init(writing request: WireRequest, _ options: WriteOptions) {
        self.init(request.with(options)) { reply throws(SettingsError) in try reply.answer() }
    }

    package static func merge(_ values: JSONObject, into suite: SuiteName, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.patch, .suite(suite), body: JSONValue.object(values).bytes()), options)
    }

    package static func replace(_ suite: SuiteName, with values: JSONObject, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.put, .suite(suite), body: JSONValue.object(values).bytes()), options)
    }

    package static func reset(_ suite: SuiteName, prefix: String?, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.delete, .suite(suite).with("prefix", prefix)), options)
    }

    package static func drop(_ suite: SuiteName, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.delete, .suite(suite).with(flag: "drop", true)), options)
    }

    package static func setSchema(
        _ document: JSONValue, of suite: SuiteName, onConflict policy: ConflictPolicy, _ options: WriteOptions
    ) -> APICall {
        let target = RequestTarget.schema(suite).with("onConflict", policy == .refuse ? nil : policy.rawValue)
        return APICall(writing: WireRequest(.put, target, body: document.bytes()), options)
    }

    package static func removeSchema(of suite: SuiteName, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.delete, .schema(suite)), options)
    }

    package static func commit(_ transaction: Transaction, _ options: WriteOptions) -> APICall {
        APICall(writing: WireRequest(.post, RequestTarget("v1", "transaction"), body: transaction.jsonBytes()), options)
    }
}
