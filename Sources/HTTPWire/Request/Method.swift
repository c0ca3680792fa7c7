/// What a request asks to be done, as far as anybody here tells methods apart.
package enum Method: Hashable, Sendable, BitwiseCopyable {
    case get, head, put, post, delete, patch, options
    /// Any other token that is a method.
    case other

    /// No registered method is half as long; a longer one is something else than HTTP.
    static let maximumLength = 32

    init(_ bytes: Span<UInt8>, _ name: Range<Int>) {
        switch name.count {
        case 3: self = bytes.holds("GET", in: name) ? .get : bytes.holds("PUT", in: name) ? .put : .other
        case 4: self = bytes.holds("HEAD", in: name) ? .head : bytes.holds("POST", in: name) ? .post : .other
        case 5: self = bytes.holds("PATCH", in: name) ? .patch : .other
        case 6: self = bytes.holds("DELETE", in: name) ? .delete : .other
        case 7: self = bytes.holds("OPTIONS", in: name) ? .options : .other
        default: self = .other
        }
    }
}
