/// Why a percent-encoded text says nothing.
package enum PercentDecodingError: Error, Hashable, Sendable {
    /// A `%` without two hexadecimal digits after it.
    case malformedEscape
    /// The bytes are not UTF-8.
    case invalidUTF8

    /// What is wrong and what to do, as a sentence without its full stop.
    package var reason: String {
        switch self {
        case .malformedEscape: "'%' must be followed by two hexadecimal digits; a '%' itself is written %25"
        case .invalidUTF8: "the percent-encoded bytes must be UTF-8"
        }
    }
}
