internal import HTTPWire
internal import Platform
internal import SettingsModel

/// Errors of the protocol in the words of the interface.
extension Problem {
    /// Why a peer got no further.
    init(_ rejection: Rejection) {
        switch rejection {
        case .request(let error): self.init(error)
        case .tooSlow: self.init(.timeout, "the request did not come in time; send it again in one go")
        case .tooManyConnections(let limit):
            self.init(.tooManyConnections, "there are \(limit) connections already; try again in a moment")
            retryAfterMs = 1000
        }
    }

    private init(_ error: RequestError) {
        switch error {
        case .badRequest: self.init(.badRequest, error.reason)
        case .bodyTooLarge, .targetTooLong, .headTooLarge, .tooManyFields:
            self.init(.tooLarge, status: error.status, error.reason)
            limit = error.limit.map { Int64($0) }
        case .expectationFailed:
            self.init(.badRequest, error.reason)
        case .codingNotImplemented: self.init(.notImplemented, error.reason)
        case .versionNotSupported: self.init(.httpVersion, error.reason)
        }
    }

    /// That nobody further may wait.
    init(_ excess: WatcherCount.Excess) {
        switch excess {
        case .total(let limit):
            self.init(.tooManyWatchers, "there are \(limit) watchers already; try again in a moment")
        case .ofAddress(let limit):
            self.init(
                .tooManyWatchers,
                "there are \(limit) watchers from this address already; let one request observe several keys or suites")
        }
        // Not all at once: they would be as many as before.
        retryAfterMs = Int64.random(in: 1000...5000)
    }

    /// That the daemon takes nothing more.
    static var shuttingDown: Problem {
        var problem = Problem(.shuttingDown, "the daemon is stopping; try again in a moment")
        problem.outcome = .notDone
        problem.retryAfterMs = 1000
        return problem
    }

    /// A method that a resource does not know.
    init(methodOf head: RequestHead, _ bytes: Span<UInt8>, at resource: Resource) {
        let allowed = resource.allowed
        self.init(
            .methodNotAllowed,
            "\(bytes.text(in: head.methodName)) does nothing here; there is \(allowed.joined(separator: ", "))")
        allow = allowed
    }
}

extension Response {
    /// What may be done with a resource.
    init(allowing methods: [String], _ cursor: Cursor) {
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append("Allow", text: methods.joined(separator: ", "))
        self.init(status: 204, contentType: .none, fields: fields, body: [])
    }
}
