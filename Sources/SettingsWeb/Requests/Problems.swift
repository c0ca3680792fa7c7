internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// Errors of the HTTP protocol and of limits. A problem is the JSON body of an error answer. The outcome
/// `notDone` tells the client that the request had no effect.
extension Problem {
    /// The error for a request or connection that the HTTP server rejects before a handler gets a request.
    init(_ rejection: Rejection) {
        switch rejection {
        case .request(let error): self.init(error)
        case .tooSlow: self.init(.timeout, "the request did not arrive in time; send it again without pauses")
        case .tooManyConnections(let limit):
            self.init(
                .tooManyConnections, retryAfterMs: 1000,
                "the server already has the maximum of \(limit) connections; try again in a moment")
        case .tooManyConnectionsOfAddress(let limit):
            self.init(
                .tooManyConnections, retryAfterMs: 1000,
                "this address or local user already has the maximum of \(limit) connections; "
                    + "reuse them, or close some of them")
        case .tooMuchMemory:
            self.init(
                .overloaded, outcome: .notDone, retryAfterMs: Int64.random(in: 1000...3000),
                "the server is out of memory for request bodies: this request waited too long for memory, or its body "
                    + "arrived at less than 64 KiB a second; try again, or send the body faster")
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

    /// The error for a method that the resource does not support.
    init(methodOf head: RequestHead, _ bytes: Span<UInt8>, at resource: Resource) {
        let (method, allowed) = (bytes.text(in: head.methodName), resource.allowed)
        self.init(
            .methodNotAllowed, "this path does not support \(method); it supports \(allowed.joined(separator: ", "))")
        self.allow = allowed
    }

    /// The error for a request that takes more memory than `allowed`, the maximum for one request. Both are in bytes.
    init(memoryOfRequest bytes: Int, allowed: Int) {
        self.init(
            .tooLarge,
            "cannot process the request: the request and its answer take about \(bytes) bytes of memory, and "
                + "limits.bufferBytes allows \(allowed) bytes; split the request, or raise limits.bufferBytes")
        self.limit = Int64(allowed)
    }

    /// The error for a request whose background work the scheduler refused: `timeoutError` if the work waited too long.
    init(_ refusal: WorkScheduler.Refusal, ifTimedOut timeoutError: Problem) {
        switch refusal {
        case .timedOut: self = timeoutError
        case .tooLarge(let bytes, let capacity): self.init(memoryOfRequest: bytes, allowed: capacity)
        }
    }

    /// The error for a watcher if the memory for its names of suites and keys would bring the use of the memory budget
    /// above half (`TopicIndex`).
    static var tooManyNames: Problem {
        Problem(
            .overloaded, retryAfterMs: 1000,
            "cannot observe: the memory for observed names and prefixes is exhausted; try again in a moment, or "
                + "observe fewer names and prefixes")
    }

    static var tooMuchBackgroundWork: Problem {
        Problem(.overloaded, retryAfterMs: 1000, "too much background work is waiting; try again in a moment")
    }
}
