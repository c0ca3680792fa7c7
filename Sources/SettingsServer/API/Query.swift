internal import HTTPWire
internal import SettingsModel

/// A query whose parameters are all known, given once, and of their kind.
struct Query {
    private var values: [(name: String, value: Value)] = []

    private enum Value {
        case flag(Bool)
        case text(String)
        case revision(Revision)
        case count(Int)
    }

    init() {}

    /// Reads the parameters that a method of a resource knows. Throws 400 if there is another, or one is wrong.
    init(_ parameters: QueryParameters, for resource: Resource, _ method: Method) throws(Problem) {
        let known = resource.parameters(of: method)
        for given in parameters.all {
            guard let parameter = known.first(where: { $0.name.hasSameBytes(as: given.name) }) else {
                throw Self.unknown(given.name, among: known.map(\.name))
            }
            guard parameter.isRepeatable || !values.contains(where: { $0.name == parameter.name }) else {
                throw Problem(.badRequest, "the parameter \(parameter.name) is given twice")
            }
            values.append((parameter.name, try Self.read(given.value, as: parameter)))
        }
    }

    private static func unknown(_ name: String, among known: [String]) -> Problem {
        let nearest = NameSuggestion.nearest(to: name, among: known)
        let hint =
            nearest.first.map { "; did you mean \($0)?" }
            ?? (known.isEmpty ? "; there are none here" : "; there are \(known.joined(separator: ", "))")
        var problem = Problem(.badRequest, "there is no parameter \(name)\(hint)")
        problem.didYouMean = nearest
        return problem
    }

    private static func read(_ text: String?, as parameter: Parameter) throws(Problem) -> Value {
        switch parameter.kind {
        case .flag:
            switch text {
            case nil, "true": return .flag(true)
            case "false": return .flag(false)
            case let text?: throw expected("true or false, or nothing", for: parameter, found: text)
            }
        case .text, .suite, .key, .place:
            guard let text else { throw Problem(.badRequest, "the parameter \(parameter.name) needs a value") }
            return .text(text)
        case .filledText:
            guard let text, !text.isEmpty else {
                throw Problem(
                    .badRequest, "the parameter \(parameter.name) is empty; leave it out if nothing is to be limited")
            }
            return .text(text)
        case .revision:
            guard let revision = text.flatMap({ Revision($0) }) else {
                throw expected("a revision such as 17", for: parameter, found: text)
            }
            return .revision(revision)
        case .count(let range):
            guard let count = text.flatMap(Self.number), range.contains(count) else {
                throw expected("\(range.lowerBound) to \(range.upperBound)", for: parameter, found: text)
            }
            return .count(count)
        case .choice(let words):
            guard let text, words.contains(where: { $0.hasSameBytes(as: text) }) else {
                throw expected(words.joined(separator: " or "), for: parameter, found: text)
            }
            return .text(text)
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
        let said = values.compactMap { name, value in
            switch value {
            case .flag(let isOn): isOn ? name : nil
            case .text(let text): "\(name)=\(text)"
            case .revision(let revision): "\(name)=\(revision)"
            case .count(let count): "\(name)=\(count)"
            }
        }
        return said.sorted { $0.precedesInBytes($1) }
    }

    func flag(_ parameter: Parameter) -> Bool {
        if case .flag(true)? = value(of: parameter) { true } else { false }
    }

    func text(_ parameter: Parameter) -> String? {
        if case .text(let text)? = value(of: parameter) { text } else { nil }
    }

    func texts(_ parameter: Parameter) -> [String] {
        values.compactMap { given in
            if given.name == parameter.name, case .text(let text) = given.value { text } else { nil }
        }
    }

    func has(_ parameter: Parameter) -> Bool {
        value(of: parameter) != nil
    }

    func revision(_ parameter: Parameter) -> Revision? {
        if case .revision(let revision)? = value(of: parameter) { revision } else { nil }
    }

    func count(_ parameter: Parameter) -> Int? {
        if case .count(let count)? = value(of: parameter) { count } else { nil }
    }

    private func value(of parameter: Parameter) -> Value? {
        values.first { $0.name == parameter.name }?.value
    }
}
