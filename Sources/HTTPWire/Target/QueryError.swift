/// Why a query says nothing.
package enum QueryError: Error, Hashable, Sendable {
    /// Nothing stands between two `&`, at an end, or before a `=`.
    case missingName
    /// A name is not properly encoded.
    case badName(PercentDecodingError)
    /// The value of a parameter is not properly encoded.
    case badValue(name: String, PercentDecodingError)

    /// What is wrong and what to do, as a sentence without its full stop.
    package var reason: String {
        switch self {
        case .missingName: "the query has a parameter without a name; it is written name=value&name=value"
        case .badName(let error): "in the name of a query parameter, \(error.reason)"
        case .badValue(let name, let error): "in the query parameter \(name), \(error.reason)"
        }
    }
}
