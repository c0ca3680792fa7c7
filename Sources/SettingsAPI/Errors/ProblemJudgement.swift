public import SettingsModel

/// What a problem means to whoever sent the request.
extension Problem {
    /// The code, if it is one of the contract as it is known here.
    public var code: ErrorCode? {
        ErrorCode(rawValue: codeName)
    }

    /// Whether the same request may succeed when it is sent again later, without anybody changing it. Whether sending
    /// it again could do it twice is another question: see ``isKnownNotDone``.
    public var isTransient: Bool {
        switch status {
        case 408, 425, 429, 502, 503, 504: true
        default: false
        }
    }

    /// Whether the request certainly changed nothing: it was refused for what it is, or the server says so. A failure
    /// that says nothing of its outcome may have happened after the write.
    public var isKnownNotDone: Bool {
        switch (outcome, status) {
        case (.notDone, _): true
        case (.unknown, _): false
        case (nil, 400..<500), (nil, 501), (nil, 505), (nil, 507): true
        default: false
        }
    }

    /// What to say in `Retry-After`: whole seconds, rounded up.
    public var retryAfterSeconds: Int64? {
        retryAfterMs.map { max(0, $0) / 1000 + (max(0, $0) % 1000 > 0 ? 1 : 0) }
    }
}

/// Problems made from the errors of this module.
extension Problem {
    /// A body that is no JSON.
    public init(_ error: JSONParseError) {
        self.init(.badRequest, error.description)
        line = Int64(error.line)
        column = Int64(error.column)
    }

    /// A body that has not the form it should have.
    public init(_ error: BodyError) {
        self.init(.badRequest, error.description)
        pointer = error.pointer
        didYouMean = error.didYouMean
    }

    /// A name that is none.
    public init(_ error: NameError) {
        self.init(.badRequest, error.description)
    }

    /// An operation that could not be done; of a secret, nothing is told that comes from its value.
    public init(_ error: OperationError, ofSecret isSecret: Bool = false) {
        self.init(error.code, isSecret ? error.detailWithoutValues : error.detail)
        pointer = isSecret ? nil : error.pointer
    }

    /// Values that break the schema; the first violation is told in the detail, all of them in `errors`.
    public init(violations: [Violation]) {
        let first = violations.first?.sentence ?? ErrorCode.invalidValue.title
        let more = violations.count > 1 ? " (and \(violations.count - 1) more)" : ""
        self.init(.invalidValue, first + more)
        errors = violations
    }
}
