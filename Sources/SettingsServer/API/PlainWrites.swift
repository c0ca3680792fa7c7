internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Plain writes, which most are: PUT of a short value in an open suite, without a query, conditions and fields of its own.
///
/// They are decided and answered as any other. What is saved is looking for what they do not have: a third of the work of
/// the loop.
extension APIHandler {
    /// Takes in a plain write. Returns nil, and does nothing, for any other request.
    func plainWrite(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling? {
        guard head.method == .put, head.isPlain, !head.saysMoreOfWrite, body.count <= Self.quickBody,
            policies.access == nil, policies.logging.access == .off, service.audit == nil,
            let route = Route(head.path, in: bytes), route.resource == .setting,
            let place = openPlace(route, bytes), let value = try? JSONValue(parsing: body)
        else { return nil }
        current.route = RouteName(method: .put, resource: .setting)
        guard !exchange.isBehind || !service.store.isBusy else { return .notYet }
        var request = WriteRequest(.setting(Transaction.Operation(suite: place.suite, key: place.key, .set(value))))
        request.size = body.count + WriteRequest.overhead
        request.origin = CommitOrigin(by: exchange.user.map { "user:\($0.name)" }, note: nil)
        request.steps = WriteRequest.stepsOfShort
        request.isQuick = true
        collect(request, OwedWrite(PlainWrite(current, from: exchange.peer, place), exchange.ticket))
        isPlainWrite = true
        return .later
    }

    /// Finds the names in a path, if they are written without escapes and the suite is open.
    private func openPlace(_ route: Route, _ bytes: Span<UInt8>) -> (suite: SuiteName, key: KeyName)? {
        guard let suite = route.suite, let key = route.key else { return nil }
        let (suiteName, keyName) = (bytes.extracting(suite), bytes.extracting(key))
        for index in keyName.indices where keyName[index] == UInt8(ascii: "%") { return nil }
        guard let place = service.store.read({ $0.openPlace(suiteName, keyName, upTo: Self.quickWrite) }),
            let key = try? place.key ?? route.keyName(in: bytes)
        else { return nil }
        return (place.suite, key)
    }

    /// Answers a plain write.
    func answer(_ plain: PlainWrite, _ write: OwedWrite, _ outcome: WriteOutcome) {
        let response = outcome.response(to: write, on: service.store.state)
        note(response, plain.request) {
            let text = LoggedRequest(plain, number: nextNumber())
            text.times = outcome.times
            return text
        }
        loop.respond(write.ticket, response)
    }
}

/// A plain write as it is kept until its answer, with what the logs may have to say of it.
struct PlainWrite {
    let request: RequestLookedAt
    let peer: SocketAddress
    let suite: SuiteName
    let key: KeyName

    init(_ request: RequestLookedAt, from peer: SocketAddress, _ place: (suite: SuiteName, key: KeyName)) {
        self.request = request
        self.peer = peer
        (suite, key) = place
    }
}

extension RequestHead {
    /// True if a field says how the write is to be done, or names the request.
    fileprivate var saysMoreOfWrite: Bool {
        has(.contentEncoding) || has(.idempotencyKey) || has(.prefer) || has(.settingsNote) || has(.requestID)
            || has(.traceParent)
    }
}
