/// Every error of the contract. The names are the codes on the wire.
public enum ErrorCode: String, CaseIterable, Hashable, Sendable {
    /// Malformed JSON, query, percent-encoding, header or body.
    case badRequest = "bad_request"
    /// No valid credential.
    case unauthorized
    /// The credential does not cover this.
    case forbidden
    /// The key is `readOnly`.
    case locked
    /// No suite of this name.
    case unknownSuite = "unknown_suite"
    /// The suite admits no key of this name.
    case unknownKey = "unknown_key"
    /// The suite admits the key, but nobody set it and it has no default.
    case notSet = "not_set"
    /// The suite has no schema.
    case noSchema = "no_schema"
    /// No resource has this path.
    case unknownPath = "unknown_path"
    /// The resource does not know this method.
    case methodNotAllowed = "method_not_allowed"
    /// The request did not arrive in time.
    case timeout
    /// A new schema does not fit stored values.
    case schemaConflict = "schema_conflict"
    /// The stored value does not fit the schema in force.
    case invalidStored = "invalid_stored"
    /// The history kept does not reach back that far.
    case historyGone = "history_gone"
    /// A guard or a condition does not hold.
    case preconditionFailed = "precondition_failed"
    /// Body, target or head is over its limit.
    case tooLarge = "too_large"
    /// The body has a type or an encoding that is not taken here.
    case unsupportedMediaType = "unsupported_media_type"
    /// The `Host` is none of this daemon's.
    case misdirected
    /// The value breaks the schema.
    case invalidValue = "invalid_value"
    /// The operation cannot be done to the value.
    case invalidOperation = "invalid_operation"
    /// The document is no schema.
    case invalidSchema = "invalid_schema"
    /// The idempotency key was used for another request.
    case idempotencyMismatch = "idempotency_mismatch"
    /// As many watchers as there may be.
    case tooManyWatchers = "too_many_watchers"
    /// As many connections as there may be.
    case tooManyConnections = "too_many_connections"
    /// More requests than this caller may send.
    case tooManyRequests = "too_many_requests"
    /// A transfer coding or method that is not implemented.
    case notImplemented = "not_implemented"
    /// A version of HTTP that is not spoken here.
    case httpVersion = "http_version"
    /// The daemon is going down.
    case shuttingDown = "shutting_down"
    /// The disk refused; only reads go on.
    case storageFailed = "storage_failed"
    /// More writes are waiting than there is room for.
    case overloaded
    /// Disk full, or over a quota.
    case insufficientStorage = "insufficient_storage"
}

extension ErrorCode {
    /// The one table of codes: which statuses each may have, the usual one first, and its title.
    private var row: (statuses: [Int], title: String) {
        switch self {
        case .badRequest: ([400], "Bad request")
        case .unauthorized: ([401], "Not signed in")
        case .forbidden: ([403], "Not permitted")
        case .locked: ([403], "Key is read-only")
        case .unknownSuite: ([404], "No such suite")
        case .unknownKey: ([404, 422], "No such key")
        case .notSet: ([404], "Not set")
        case .noSchema: ([404], "Suite has no schema")
        case .unknownPath: ([404], "No such path")
        case .methodNotAllowed: ([405], "Method not allowed")
        case .timeout: ([408], "Request took too long")
        case .schemaConflict: ([409], "Stored values do not fit the schema")
        case .invalidStored: ([409], "Stored value does not fit the schema")
        case .historyGone: ([410], "History no longer kept")
        case .preconditionFailed: ([412], "Precondition failed")
        case .tooLarge: ([413, 414, 431], "Too large")
        case .unsupportedMediaType: ([415], "Unsupported media type")
        case .misdirected: ([421], "Wrong host")
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
        case .httpVersion: ([505], "HTTP version not supported")
        case .insufficientStorage: ([507], "Storage full")
        }
    }

    /// The HTTP statuses that an error with this code may have, the usual one first.
    public var statuses: [Int] {
        row.statuses
    }

    /// The HTTP status that an error with this code has unless something else is said.
    public var defaultStatus: Int {
        row.statuses.first ?? 400
    }

    /// What kind of error this is in a few words, the same for each of its occurrences.
    public var title: String {
        row.title
    }

    /// The codes that a status may stand for; none if the contract does not use it for errors.
    public static func codes(ofStatus status: Int) -> [ErrorCode] {
        allCases.filter { $0.statuses.contains(status) }
    }
}
