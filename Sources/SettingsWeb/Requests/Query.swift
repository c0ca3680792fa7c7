internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// The validated query of a request: the parameters after the `?` of the target, with their values.
struct Query {
    /// The sent parameters in their order. The text is nil for a parameter without a value, such as `dryRun`.
    private var arguments: [(parameter: Parameter, text: String?)] = []

    init() {}

    /// Throws 400 if a parameter is unknown, has an invalid value, or is repeated although it is not repeatable. The
    /// known parameters are the parameters of the resource and method, and the `additional` parameters.
    init(
        _ parameters: QueryParameters, for resource: Resource, _ method: Method, additional: [Parameter] = []
    ) throws(Problem) {
        let known = resource.parameters(of: method) + additional
        for sent in parameters.all {
            let previous = arguments.last?.parameter
            let parameter: Parameter
            // The values of a repeated parameter usually follow each other, so this comparison comes first.
            if let previous, previous.name.hasSameBytes(as: sent.name) {
                parameter = previous
            } else if let found = known.first(where: { $0.name.hasSameBytes(as: sent.name) }) {
                parameter = found
            } else {
                throw Self.unknownParameter(sent.name, among: known.map(\.name))
            }
            guard parameter.isRepeatable || !has(parameter) else {
                throw Problem(.badRequest, "the parameter \(parameter.name) must not be repeated")
            }
            try Self.checkValue(sent.value, of: parameter)
            arguments.append((parameter, sent.value))
        }
    }

    private static func unknownParameter(_ name: String, among known: [String]) -> Problem {
        let nearest = NameSuggestion.nearest(to: name, among: known)
        let allowed =
            switch known.count {
            case 0: "this method takes no parameters on this path"
            case 1: "this method takes only the parameter \(known[0]) on this path"
            default: "this method takes these parameters on this path: \(known.joined(separator: ", "))"
            }
        let hint = nearest.first.map { "did you mean \($0)?" } ?? allowed
        var problem = Problem(.badRequest, "there is no parameter \(name); \(hint)")
        problem.didYouMean = nearest
        return problem
    }

    private static func checkValue(_ text: String?, of parameter: Parameter) throws(Problem) {
        switch parameter.kind {
        case .flag:
            if let text, text != "true", text != "false" {
                throw valueError("true or false, or have no value", for: parameter, found: text)
            }
        // Names and resume points (the cursor or the revision in `since`) are parsed when they are used.
        case .text, .suite, .key, .client, .resumePoint:
            if text == nil { throw Problem(.badRequest, "the parameter \(parameter.name) needs a value") }
        case .nonEmptyText:
            if text?.isEmpty ?? true {
                throw Problem(
                    .badRequest, "the parameter \(parameter.name) must not be empty; omit it to apply no filter")
            }
        case .revision:
            if text.flatMap({ Revision($0) }) == nil {
                throw valueError("a revision such as 17", for: parameter, found: text)
            }
        case .cursor:
            if text.flatMap({ Cursor($0) }) == nil {
                throw valueError("a cursor such as 7f3a.40", for: parameter, found: text)
            }
        case .share:
            if text.flatMap(parseShare) == nil {
                throw valueError("a decimal number from 0 to 1", for: parameter, found: text)
            }
        case .moment:
            if text.flatMap({ Moment($0) }) == nil {
                throw valueError(
                    "a revision such as 17, or an instant such as 2026-11-20T10:00:00Z", for: parameter, found: text)
            }
        case .count(let range):
            guard let count = text.flatMap(parseNumber), range.contains(count) else {
                throw valueError(
                    "a number from \(range.lowerBound) to \(range.upperBound)", for: parameter, found: text)
            }
        case .choice(let words):
            guard let text, words.contains(where: { $0.hasSameBytes(as: text) }) else {
                throw valueError(words.joined(separator: " or "), for: parameter, found: text)
            }
        }
    }

    /// Parses a number of decimal digits without a sign.
    private static func parseNumber(_ text: String) -> Int? {
        text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(text) : nil
    }

    /// A share of 1, in the unit of `share(_:)`.
    static let wholeShare = 1_000_000_000

    /// Parses a decimal number from 0 to 1, such as `0.95`. Returns billionths, so that a product with a count is
    /// exact. Ignores the value of the digits after the ninth decimal place.
    private static func parseShare(_ text: String) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let whole = parts.first.flatMap(parseNumber), !text.hasPrefix("."), !text.hasSuffix(".") else {
            return nil
        }
        let digits = parts.count > 1 ? String(parts[1].prefix(9)) : ""
        let padded = digits + String(repeating: "0", count: 9 - digits.utf8.count)
        guard parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } }),
            whole <= 1, let fraction = parseNumber(padded), whole * wholeShare + fraction <= wholeShare
        else { return nil }
        return whole * wholeShare + fraction
    }

    private static func valueError(_ description: String, for parameter: Parameter, found: String?) -> Problem {
        Problem(
            .badRequest,
            "parameter \(parameter.name): must be \(description) (got \(found.map { "\"\($0)\"" } ?? "no value"))")
    }
}

extension Query {
    /// Sorted texts that are equal for queries with the same meaning, such as `dryRun` and `dryRun=true`. The texts
    /// must not change: digests of requests, which commits store to recognize repeats, depend on them.
    var canonicalTexts: [String] {
        // `wait` limits how long a write waits before it is processed. It does not change the effect of the write.
        let parameters = arguments.filter { $0.parameter.name != Parameter.wait.name }.compactMap { parameter, text in
            if case .flag = parameter.kind { return text == "false" ? nil : parameter.name }
            return "\(parameter.name)=\(text ?? "")"
        }
        return parameters.sorted { $0.precedesInBytes($1) }
    }

    func has(_ parameter: Parameter) -> Bool { arguments.contains { $0.parameter.name == parameter.name } }

    /// True if the query has the flag and does not set it to `false`.
    func flag(_ parameter: Parameter) -> Bool { has(parameter) && text(parameter) != "false" }

    /// The first value; nil if the query does not have the parameter, or has it without a value.
    func text(_ parameter: Parameter) -> String? { arguments.first { $0.parameter.name == parameter.name }?.text }
    func texts(_ parameter: Parameter) -> [String] {
        arguments.compactMap { $0.parameter.name == parameter.name ? $0.text : nil }
    }
    func revision(_ parameter: Parameter) -> Revision? { text(parameter).flatMap { Revision($0) } }
    func moment(_ parameter: Parameter) -> Moment? { text(parameter).flatMap { Moment($0) } }
    func count(_ parameter: Parameter) -> Int? { text(parameter).flatMap(Self.parseNumber) }
    /// The value in billionths: see `wholeShare`.
    func share(_ parameter: Parameter) -> Int? { text(parameter).flatMap(Self.parseShare) }
}
