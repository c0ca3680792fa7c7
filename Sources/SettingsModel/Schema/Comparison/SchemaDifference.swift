/// One thing about a key on which a program and a suite's schema disagree.
public struct SchemaDifference: Hashable, Sendable {
    /// What it is about.
    public enum Aspect: Hashable, Sendable {
        /// The schema does not admit the key.
        case key
        /// No value of the program's type is one for the schema, nor the other way round.
        case type
        /// Some values are allowed by the one and not by the other.
        case limits
        /// What holds while nothing is stored.
        case defaultValue
        /// Whether the value is a secret.
        case secrecy
    }

    /// The key.
    public let key: String
    /// Where inside the value, in words as `each element`; nil for the value as a whole.
    public let place: String?
    /// What it is about.
    public let aspect: Aspect
    /// The whole of it in a sentence, as `player.volume: the program allows 0...1, the server 0...2`.
    public let sentence: String

    init(_ key: String, at place: String? = nil, _ aspect: Aspect, _ detail: String) {
        self.key = key
        self.place = place
        self.aspect = aspect
        sentence = "\(key)\(place.map { ", \($0)" } ?? ""): \(detail)"
    }
}

extension SchemaDifference: CustomStringConvertible {
    /// The sentence.
    public var description: String {
        sentence
    }
}
