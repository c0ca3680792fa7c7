/// What a request asks to be done, as far as anybody here tells methods apart.
package enum Method: Hashable, Sendable {
    case get, head, put, post, delete, patch, options
    /// Any other token that is a method.
    case other
}
