internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The errors of the protocol and of the daemon's limits, as the interface has them.
extension Problem {
    /// The error for a peer that gets no further.
    init(_ rejection: Rejection) {
        switch rejection {
        case .request(let error): self.init(error)
        case .tooSlow: self.init(.timeout, "the request did not come in time; send it again in one go")
        case .tooManyConnections(let limit):
            self.init(
                .tooManyConnections, retryAfterMs: 1000, "there are \(limit) connections already; try again in a moment"
            )
        case .tooManyConnectionsOfAddress(let limit):
            self.init(
                .tooManyConnections, retryAfterMs: 1000,
                "there are \(limit) connections from this address already; use those again, or close some")
        case .tooMuchMemory:
            self.init(
                .overloaded, outcome: .notDone, retryAfterMs: Int64.random(in: 1000...3000),
                "the server is out of memory for request bodies: this request waited too long for memory, or its body came at less "
                    + "than 64 KiB a second; try again, or send the body faster")
        }
    }

    private init(_ error: MessageError) {
        switch error {
        case .badRequest, .expectationFailed: self.init(.badRequest, error.reason)
        case .bodyTooLarge, .targetTooLong, .headTooLarge, .tooManyFields:
            self.init(.tooLarge, status: error.status, error.reason)
            self.limit = error.limit.map { Int64($0) }
        case .codingNotImplemented: self.init(.notImplemented, error.reason)
        case .versionNotSupported: self.init(.httpVersion, error.reason)
        }
    }

    /// The error for a method that a resource does not know.
    init(methodOf head: RequestHead, _ bytes: Span<UInt8>, at resource: Resource) {
        let allowed = resource.allowed
        self.init(
            .methodNotAllowed,
            "\(bytes.text(in: head.methodName)) does nothing here; there is \(allowed.joined(separator: ", "))")
        self.allow = allowed
    }

    /// The error for a document that is no schema, with everything that is wrong with it.
    init(_ error: SchemaError) {
        let violations = error.problems.map { problem in
            Violation(pointer: problem.pointer, keyword: problem.keyword, detail: problem.detail)
        }
        let more = violations.count > 1 ? " (and \(violations.count - 1) more)" : ""
        self.init(.invalidSchema, (error.problems.first?.description ?? "the schema is not valid") + more)
        self.errors = violations
    }

    /// The refusal of a request that takes more memory than all requests and answers together may take.
    init(memoryOfRequest bytes: Int, allowed: Int) {
        self.init(
            .tooLarge,
            "cannot process the request: it and its answer take about \(bytes) bytes of memory, and "
                + "limits.bufferBytes leaves \(allowed); split the request, or raise limits.bufferBytes")
        self.limit = Int64(allowed)
    }

    /// The problem of work that was refused.
    ///
    /// - Parameter timeout: the problem if the work waited too long.
    init(_ refusal: WorkScheduler.Refusal, orTimeout timeout: Problem) {
        switch refusal {
        case .timedOut: self = timeout
        case .tooLarge(let bytes, let capacity): self.init(memoryOfRequest: bytes, allowed: capacity)
        }
    }

    static var tooManyNames: Problem {
        Problem(
            .overloaded, retryAfterMs: 1000,
            "too many names and prefixes are being observed; try again in a moment, or observe fewer")
    }

    static var tooMuchBackgroundWork: Problem {
        Problem(.overloaded, retryAfterMs: 1000, "too much work is waiting; try again in a moment")
    }
}
