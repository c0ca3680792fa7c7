internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Plain writes, which most are: PUT of a short value that the schema allows, without a query, conditions and fields of its own.
///
/// They are decided and answered as any other. What is saved is looking for what they do not have, which would be a third of
/// the work of the loop.
extension APIHandler {
    /// Takes in a plain write. Returns nil, and does nothing, for any other request.
    func plainWrite(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling? {
        guard head.method == .put, head.isHTTP11, head.isPlain, !head.saysMoreOfWrite, body.count <= Self.quickBody,
            policies.access == nil, policies.logging.access == .off, service.audit == nil,
            let route = Route(head.path, in: bytes), route.resource == .setting,
            let place = plainPlace(route, bytes), let key = try? place.key ?? route.keyName(in: bytes),
            let value = try? JSONValue(parsing: body), place.schema?.allows(value, for: key) ?? true
        else { return nil }
        current.route = RouteName(method: .put, resource: .setting)
        guard !exchange.isBehind || !service.store.isBusy else { return .notYet }
        let origin = CommitOrigin(by: exchange.user?.callerName, note: nil)
        let plain = PlainWrite(peer: exchange.peer, suite: place.suite, key: key)
        collect(
            WriteRequest(
                quick: Transaction.Operation(suite: place.suite, key: key, .set(value)), checkedAgainst: place.schema,
                by: origin, bytes: body.count),
            OwedWrite(plain, current, exchange.ticket))
        isPlainWrite = true
        return .later
    }

    /// Finds the place that a path names without escapes.
    private func plainPlace(_ route: Route, _ bytes: Span<UInt8>) -> PlainPlace? {
        guard let suite = route.suite, let key = route.key else { return nil }
        let (suiteName, keyName) = (bytes.extracting(suite), bytes.extracting(key))
        for index in keyName.indices where keyName[index] == UInt8(ascii: "%") { return nil }
        return service.store.read { $0.plainPlace(suiteName, keyName, upTo: 256) }
    }

    /// Answers a plain write. One whose connection is gone is not counted.
    func answer(_ write: OwedWrite, _ request: RequestLookedAt, _ response: Response, times: WriteTimes?) {
        guard loop.respond(write.ticket, response) else { return }
        note(response, request) {
            let text = write.text(number: nextNumber())
            text?.times = times
            return text
        }
    }
}

extension SchemaVersion {
    /// True if the key may have the value as it is, and is not locked, and if finding that out takes few steps: the names of
    /// keys that are not listed may have to be matched with patterns.
    fileprivate func allows(_ value: JSONValue, for key: KeyName) -> Bool {
        guard schema.lists(key.text), let rules = schema.key(key.text), !rules.isLocked else { return false }
        return rules.allows(value, within: WriteRequest.stepsOfShort) ?? false
    }
}

extension RequestHead {
    /// True if a field says how the write is to be done, or names the request.
    fileprivate var saysMoreOfWrite: Bool {
        has(.contentEncoding) || has(.idempotencyKey) || has(.prefer) || has(.settingsNote) || has(.requestID)
            || has(.traceParent)
    }
}
