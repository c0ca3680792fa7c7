internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// A query whose parameters are all known, given once, and of their kind.
struct Query {
    private var given: [(parameter: Parameter, text: String?)] = []

    init() {}

    /// Reads the parameters that a method of a resource knows, and some more. Throws 400 if there is another, or one is wrong.
    init(
        _ parameters: QueryParameters, for resource: Resource, _ method: Method, and more: [Parameter] = []
    ) throws(Problem) {
        let known = resource.parameters(of: method) + more
        for sent in parameters.all {
            let last = given.last?.parameter
            let parameter: Parameter
            if let last, last.name.hasSameBytes(as: sent.name) {
                parameter = last
            } else if let found = known.first(where: { $0.name.hasSameBytes(as: sent.name) }) {
                parameter = found
            } else {
                throw Self.unknown(sent.name, among: known.map(\.name))
            }
            guard parameter.isRepeatable || !has(parameter) else {
                throw Problem(.badRequest, "the parameter \(parameter.name) is given twice")
            }
            try Self.check(sent.value, as: parameter)
            given.append((parameter, sent.value))
        }
    }

    private static func unknown(_ name: String, among known: [String]) -> Problem {
        let nearest = NameSuggestion.nearest(to: name, among: known)
        let others =
            switch known.count {
            case 0: "there are none here"
            case 1: "there is only \(known[0])"
            default: "there are \(known.joined(separator: ", "))"
            }
        let hint = nearest.first.map { "did you mean \($0)?" } ?? others
        var problem = Problem(.badRequest, "there is no parameter \(name); \(hint)")
        problem.didYouMean = nearest
        return problem
    }

    private static func check(_ text: String?, as parameter: Parameter) throws(Problem) {
        switch parameter.kind {
        case .flag:
            if let text, text != "true", text != "false" {
                throw expected("true or false, or nothing", for: parameter, found: text)
            }
        case .text, .suite, .key, .place:
            if text == nil { throw Problem(.badRequest, "the parameter \(parameter.name) needs a value") }
        case .filledText:
            if text?.isEmpty ?? true {
                throw Problem(
                    .badRequest, "the parameter \(parameter.name) is empty; leave it out if nothing is to be limited")
            }
        case .revision:
            if text.flatMap({ Revision($0) }) == nil {
                throw expected("a revision such as 17", for: parameter, found: text)
            }
        case .moment:
            if text.flatMap({ Moment($0) }) == nil {
                throw expected(
                    "a revision such as 17, or an instant such as 2026-11-20T10:00:00Z", for: parameter, found: text)
            }
        case .count(let range):
            guard let count = text.flatMap(number), range.contains(count) else {
                throw expected("\(range.lowerBound) to \(range.upperBound)", for: parameter, found: text)
            }
        case .choice(let words):
            guard let text, words.contains(where: { $0.hasSameBytes(as: text) }) else {
                throw expected(words.joined(separator: " or "), for: parameter, found: text)
            }
        }
    }

    /// Reads a number in decimal digits, without a sign.
    private static func number(_ text: String) -> Int? {
        text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(text) : nil
    }

    private static func expected(_ what: String, for parameter: Parameter, found: String?) -> Problem {
        Problem(.badRequest, "\(parameter.name) must be \(what), but is \(found.map { "\"\($0)\"" } ?? "empty")")
    }
}

extension Query {
    /// The parameters as text, the same for all spellings. Part of the digests that are stored.
    var meaning: [String] {
        // How long a write may wait for a place in history makes it no other write.
        let parameters = given.filter { $0.parameter.name != Parameter.wait.name }.compactMap { parameter, text in
            if case .flag = parameter.kind { return text == "false" ? nil : parameter.name }
            return "\(parameter.name)=\(text ?? "")"
        }
        return parameters.sorted { $0.precedesInBytes($1) }
    }

    func has(_ parameter: Parameter) -> Bool {
        given.contains { $0.parameter.name == parameter.name }
    }

    func flag(_ parameter: Parameter) -> Bool {
        has(parameter) && text(parameter) != "false"
    }

    func text(_ parameter: Parameter) -> String? {
        given.first { $0.parameter.name == parameter.name }?.text
    }

    func texts(_ parameter: Parameter) -> [String] {
        given.compactMap { $0.parameter.name == parameter.name ? $0.text : nil }
    }

    func revision(_ parameter: Parameter) -> Revision? {
        text(parameter).flatMap { Revision($0) }
    }

    func moment(_ parameter: Parameter) -> Moment? {
        text(parameter).flatMap { Moment($0) }
    }

    func count(_ parameter: Parameter) -> Int? {
        text(parameter).flatMap(Self.number)
    }
}
