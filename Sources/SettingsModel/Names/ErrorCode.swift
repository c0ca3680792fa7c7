/// The code of an error in a response of the HTTP API. ``title`` describes the error.
public enum ErrorCode: String, CaseIterable, Hashable, Sendable {
    case badRequest = "bad_request"
    case unauthorized
    case forbidden
    case locked
    case unknownSuite = "unknown_suite"
    case unknownKey = "unknown_key"
    case notSet = "not_set"
    case noSchema = "no_schema"
    case unknownPath = "unknown_path"
    case unknownPending = "unknown_pending"
    case methodNotAllowed = "method_not_allowed"
    case timeout
    case schemaConflict = "schema_conflict"
    case changedSince = "changed_since"
    case invalidStored = "invalid_stored"
    case historyGone = "history_gone"
    case pendingEnded = "pending_ended"
    case preconditionFailed = "precondition_failed"
    case tooLarge = "too_large"
    case unsupportedMediaType = "unsupported_media_type"
    case misdirected
    case invalidValue = "invalid_value"
    case invalidOperation = "invalid_operation"
    case invalidSchema = "invalid_schema"
    case idempotencyMismatch = "idempotency_mismatch"
    case tooManyWatchers = "too_many_watchers"
    case tooManyConnections = "too_many_connections"
    case tooManyRequests = "too_many_requests"
    case notImplemented = "not_implemented"
    case httpVersion = "http_version"
    case shuttingDown = "shutting_down"
    case storageFailed = "storage_failed"
    case overloaded
    case behind
    case insufficientStorage = "insufficient_storage"
}

extension ErrorCode {
    /// The HTTP statuses that an error with this code may have, the most frequent first, and the title.
    private var statusesAndTitle: (statuses: [Int], title: String) {
        switch self {
        case .badRequest: ([400], "Bad request")
        case .unauthorized: ([401], "Not authenticated")
        case .forbidden: ([403], "Not permitted")
        case .locked: ([403], "Key is read-only")
        case .unknownSuite: ([404], "No such suite")
        case .unknownKey: ([404, 422], "No such key")
        case .notSet: ([404], "Not set")
        case .noSchema: ([404], "Suite has no schema")
        case .unknownPath: ([404], "No such path")
        case .unknownPending: ([404], "No such pending action")
        case .methodNotAllowed: ([405], "Method not allowed")
        case .timeout: ([408], "Request took too long")
        case .schemaConflict: ([409], "Stored values do not match the schema")
        case .changedSince: ([409], "Settings changed after the commit")
        case .invalidStored: ([409], "Stored value does not match the schema")
        case .historyGone: ([410], "History no longer available")
        case .pendingEnded: ([410, 409], "Pending action has ended")
        case .preconditionFailed: ([412], "Precondition failed")
        case .tooLarge: ([413, 414, 431], "Too large")
        case .unsupportedMediaType: ([415], "Unsupported media type")
        case .misdirected: ([421], "Host not configured")
        case .invalidValue: ([422], "Value not allowed")
        case .invalidOperation: ([422], "Operation not possible")
        case .invalidSchema: ([422], "Schema not valid")
        case .idempotencyMismatch: ([422], "Idempotency key used for another request")
        case .tooManyWatchers: ([429], "Too many watchers")
        case .tooManyConnections: ([429], "Too many connections")
        case .tooManyRequests: ([429], "Too many requests")
        case .notImplemented: ([501], "Not implemented")
        case .shuttingDown: ([503], "Shutting down")
        case .storageFailed: ([503], "Storage failed")
        case .overloaded: ([503], "Overloaded")
        case .behind: ([503], "Daemon behind the requested state")
        case .httpVersion: ([505], "HTTP version not supported")
        case .insufficientStorage: ([507], "Insufficient storage")
        }
    }

    /// The HTTP statuses that an error with this code may have, the most frequent first.
    public var statuses: [Int] {
        statusesAndTitle.statuses
    }

    /// The most frequent HTTP status of an error with this code.
    public var defaultStatus: Int {
        statusesAndTitle.statuses.first ?? 400
    }

    /// A short description of the error.
    public var title: String {
        statusesAndTitle.title
    }
}
