/// What the body of a response is. Closed, so that no text from outside ever becomes a content type.
package enum ContentType: Hashable, Sendable {
    case json, problem, schema, text, eventStream, openMetrics
    /// There is nothing to say: the response has no body.
    case none

    /// The value of `Content-Type`; empty for `none`.
    package var text: StaticString {
        switch self {
        case .json: "application/json"
        case .problem: "application/problem+json"
        case .schema: "application/schema+json"
        case .text: "text/plain; charset=utf-8"
        case .eventStream: "text/event-stream"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        case .none: ""
        }
    }
}
