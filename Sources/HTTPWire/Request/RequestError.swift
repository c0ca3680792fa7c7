/// Why bytes are not taken as a request. Where the next request begins is then unknown or not to be trusted, so the
/// connection is closed after the answer, whatever the error.
package enum RequestError: Error, Hashable, Sendable {
    /// 400. The sentence says what is wrong.
    case badRequest(String)
    /// 413. The head is complete and can be looked at: who may not ask at all should hear that first.
    case bodyTooLarge(limit: Int)
    /// 414.
    case targetTooLong(limit: Int)
    /// 417. The sentence says what was expected.
    case expectationFailed(String)
    /// 431: the head or the trailers have too many bytes.
    case headTooLarge(limit: Int)
    /// 431: there are too many fields or trailers.
    case tooManyFields(limit: Int)
    /// 501. The sentence names the coding.
    case codingNotImplemented(String)
    /// 505. The sentence names the version.
    case versionNotSupported(String)

    /// The status of the answer.
    package var status: Int {
        switch self {
        case .badRequest: 400
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .expectationFailed: 417
        case .headTooLarge, .tooManyFields: 431
        case .codingNotImplemented: 501
        case .versionNotSupported: 505
        }
    }

    /// What is wrong and what to do, as a sentence without its full stop.
    package var reason: String {
        switch self {
        case .badRequest(let reason), .expectationFailed(let reason), .codingNotImplemented(let reason),
            .versionNotSupported(let reason):
            reason
        case .bodyTooLarge(let limit): "the body must be at most \(limit) bytes long"
        case .targetTooLong(let limit): "the target of the request must be at most \(limit) bytes long"
        case .headTooLarge(let limit): "the fields of the request must be at most \(limit) bytes long, all together"
        case .tooManyFields(let limit): "a request must have at most \(limit) fields"
        }
    }

    /// The limit that was exceeded, where it was one.
    package var limit: Int? {
        switch self {
        case .bodyTooLarge(let limit), .targetTooLong(let limit), .headTooLarge(let limit), .tooManyFields(let limit):
            limit
        case .badRequest, .expectationFailed, .codingNotImplemented, .versionNotSupported: nil
        }
    }
}
