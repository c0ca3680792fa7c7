public import SettingsModel

/// Why a JSON body does not have the form that was asked for, and where.
///
/// The detail names kinds and members, never values: it may be logged whatever the body was about.
public struct BodyError: Error, Hashable, Sendable {
    /// Where in the body. A member that is missing is reported at the object that lacks it.
    public private(set) var pointer: JSONPointer
    /// What was expected and what was found, as `expected an integer, found a string`.
    public let detail: String
    /// The names that may have been meant, nearest first.
    public let didYouMean: [String]

    /// An error at the value that is being read.
    public init(_ detail: String, at pointer: JSONPointer = .root, didYouMean: [String] = []) {
        self.pointer = pointer
        self.detail = detail
        self.didYouMean = didYouMean
    }

    /// The same error seen from one level further out, where the value is a member.
    func under(_ name: String) -> BodyError {
        BodyError(detail, at: JSONPointer([name] + pointer.tokens), didYouMean: didYouMean)
    }

    /// The same error seen from one level further out, where the value is an element.
    func under(_ index: Int) -> BodyError {
        under(String(index))
    }

    static func expected(_ what: String, found value: JSONValue) -> BodyError {
        BodyError("expected \(what), found \(value.kindPhrase)")
    }

    /// A word that is none of those it may be: `unknown op "ad"; did you mean add?`.
    static func unknown(_ what: String, _ word: String, among known: [String]) -> BodyError {
        let nearest = NameSuggestion.nearest(to: word, among: known)
        let advice = nearest.first.map { "; did you mean \($0)?" } ?? ", it is one of \(known.joined(separator: ", "))"
        return BodyError("unknown \(what) \(quoted(word))\(advice)", didYouMean: nearest)
    }

    /// A name in quotation marks, cut where it is longer than anybody wants to read back.
    static func quoted(_ name: String) -> String {
        JSONValue.string(name.cut(to: 64)).text()
    }
}

extension JSONPointer {
    /// The text form for a message, cut where it is longer than anybody wants to read back.
    var phrase: String {
        description.cut(to: 160)
    }
}

extension BodyError: CustomStringConvertible {
    /// The detail with its place, as `/do/0/by: expected a number, found a string`.
    public var description: String {
        pointer.tokens.isEmpty ? detail : "\(pointer.phrase): \(detail)"
    }
}
