/// What all parts of one encoding or decoding share.
final class CodingSession {
    /// How many values may be under way inside each other. A value that codes another as its only part adds no level
    /// of JSON but fills the stack all the same; this leaves room for two of those around each level.
    static let maximumCalls = 3 * JSONValue.maximumDepth

    let scalars: ScalarForm
    private var origin: (failure: BridgeError, text: String)?

    init(allowsNonFinite: Bool) {
        scalars = ScalarForm(allowsNonFinite: allowsNonFinite)
    }

    /// Remembers the place for an error that does not know its own. To be called on the way out by each value that
    /// the error passes; the first of them is the place.
    func note(_ error: any Error, at place: CodingPlace) {
        guard !CodingFailure.knowsPlace(of: error) else { return }
        let text = String(describing: error)
        if let origin, origin.text == text, origin.failure.pointer.isInside(place.pointer) { return }
        origin = (CodingFailure(error).bridgeError(inside: place), text)
    }

    /// The error for the outside.
    func bridgeError(for error: any Error) -> BridgeError {
        if !CodingFailure.knowsPlace(of: error), let origin, origin.text == String(describing: error) {
            return origin.failure
        }
        return CodingFailure(error).bridgeError(inside: .root)
    }
}

extension JSONPointer {
    /// Whether this place is another one or a part of it.
    fileprivate func isInside(_ other: JSONPointer) -> Bool {
        tokens.count >= other.tokens.count && JSONPointer(Array(tokens.prefix(other.tokens.count))) == other
    }
}
