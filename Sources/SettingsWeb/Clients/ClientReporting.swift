internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The name and the report of a client: the query parameters `client`, `applied`, `failed` and `reason` of a watch
/// request, or the path and the body of a PUT.
struct ClientParameters: Sendable {
    let name: ClientName
    let report: ClientReport

    /// Reads the parameters of a watch request. Returns nil if the query does not have `client`.
    init?(_ query: Query) throws(Problem) {
        guard let text = query.text(.client) else {
            for parameter in [Parameter.applied, .failed, .reason] where query.has(parameter) {
                throw Problem(.badRequest, "the parameter \(parameter.name) needs the parameter client")
            }
            return nil
        }
        name = try Self.name(text)
        // No cursor is invalid here: `Query` has refused invalid values of `applied` and `failed`.
        report = ClientReport(
            applied: query.text(.applied).flatMap { Cursor($0) }, failed: query.text(.failed).flatMap { Cursor($0) },
            reason: query.text(.reason))
        try report.check()
    }

    static func name(_ text: String) throws(Problem) -> ClientName {
        guard let name = ClientName(text) else {
            throw Problem(.badRequest, "client: the name must be \(ClientName.expectedText)")
        }
        return name
    }
}

extension ClientReport {
    /// Throws a problem with the status 400 if the report has a reason without a failure, or a reason that is too long.
    fileprivate func check() throws(Problem) {
        guard let reason else { return }
        guard failed != nil else {
            throw Problem(
                .badRequest,
                "a report with \"reason\" must also have \"failed\", the cursor of the failed state")
        }
        let count = reason.utf8.count
        guard count <= Self.maximumReasonLength else {
            throw Problem(
                .badRequest, "reason: must have at most \(Self.maximumReasonLength) bytes (got \(count) bytes)")
        }
    }
}

extension ReceivedReport {
    /// - Parameter filter: the keys that the watch names; nil for a report without a watch.
    init(_ parameters: ClientParameters, of caller: Caller?, _ exchange: Exchange, watching filter: KeyFilter?) {
        self.init(
            name: parameters.name, report: parameters.report, caller: caller?.name, peer: ClientPeer(exchange),
            restrictedGrants: caller?.restrictedGrants, filter: filter)
    }
}

extension ClientPeer {
    fileprivate init(_ exchange: Exchange) {
        switch exchange.peer {
        case .tcp(let address, _): self = .address(address)
        case .unix: self = exchange.user.map { .user($0.name) } ?? .unknown
        }
    }
}

extension APIHandler {
    /// Answers a PUT of a client: records the report in the body, and describes the client.
    func recordReport(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        // A pipelined write before this request may make the commit that the report names. Before the commit is
        // published, the report would count as a report of the revision that is published now.
        guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
        try request.checkContentEncoding()
        let suite = try request.suite(in: bytes)
        let name = try ClientParameters.name(try request.route.clientName(in: bytes))
        guard exchange.largeBody == nil else {
            throw Problem(.tooLarge, "a report must have less than \(APIRequest.largeBodySize) bytes")
        }
        let report = try Self.parse(body)
        try report.check()
        // A cursor for a caller that may not read everything contains a digest of its grants (`restrictedGrants`).
        let state = service.store.state.withGrantsDigest(of: request.caller?.restrictedGrants)
        let parameters = ClientParameters(name: name, report: report)
        let received = ReceivedReport(parameters, of: request.caller, exchange, watching: nil)
        guard state.hasSuite(suite), let client = try service.clients.record(received, of: suite, on: state) else {
            throw state.unknownSuite(suite, for: request.caller?.restrictedGrants)
        }
        return renderAnswer(
            service.description(of: client, in: suite, on: state), to: exchange.ticket,
            for: ClientKey(of: request.caller, exchange))
    }

    private static func parse(_ body: Span<UInt8>) throws(Problem) -> ClientReport {
        let json: JSONValue
        do { json = try JSONValue(parsing: body) } catch { throw Problem(error) }
        do { return try ClientReport(json: json) } catch { throw Problem(error) }
    }
}

extension ClientParameters {
    fileprivate init(name: ClientName, report: ClientReport) { (self.name, self.report) = (name, report) }
}
