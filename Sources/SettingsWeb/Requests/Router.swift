internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// The result of routing a path: the resource, and the positions of the names of the suite and the key in the path. A
/// suite is a named set of settings; a key is a name in a suite.
struct Route {
    let resource: Resource
    /// The range of the suite name in the bytes of the request, still percent-encoded; nil if the path has none.
    let suite: Range<Int>?
    /// The range of the key, of the name of a client, or of the identifier of a pending action, in the bytes of the
    /// request, still percent-encoded; nil if the path has none.
    let key: Range<Int>?

    /// Finds the resource at a path; nil if no resource has this path.
    init?(_ path: Range<Int>, in bytes: Span<UInt8>) {
        var segments = PathSegments(path)
        guard let first = segments.next(in: bytes) else { return nil }
        let isVersioned = bytes.holds("v1", in: first)
        let route = isVersioned ? Self.findVersioned(&segments, in: bytes) : Self.findUnversioned(first, in: bytes)
        guard let route, segments.next(in: bytes) == nil else { return nil }
        self = route
    }

    /// Finds the resource of a request. Throws 404 for an unknown path, and 405 for a method that is not supported.
    init(_ head: RequestHead, in bytes: Span<UInt8>) throws(Problem) {
        guard let route = Route(head.path, in: bytes) else {
            throw PathSuggestion.problem(at: bytes.text(in: head.path))
        }
        guard route.resource.allows(head.method) else { throw Problem(methodOf: head, bytes, at: route.resource) }
        self = route
    }

    func suiteName(in bytes: Span<UInt8>) throws(Problem) -> SuiteName {
        let text = try Self.decoded(suite ?? 0..<0, in: bytes)
        do {
            return try SuiteName(text)
        } catch {
            throw Problem(error)
        }
    }

    func keyName(in bytes: Span<UInt8>) throws(Problem) -> KeyName {
        let text = try Self.decoded(key ?? 0..<0, in: bytes)
        do {
            return try KeyName(text)
        } catch {
            throw Problem(error)
        }
    }

    /// The decoded `{name}` in `/v1/suites/{suite}/clients/{name}`, which may be invalid.
    func clientName(in bytes: Span<UInt8>) throws(Problem) -> String { try Self.decoded(key ?? 0..<0, in: bytes) }

    private static func decoded(_ range: Range<Int>, in bytes: Span<UInt8>) throws(Problem) -> String {
        do {
            return try PercentDecoding.text(bytes, range)
        } catch {
            throw Problem(.badRequest, error.reason)
        }
    }

    private init(_ resource: Resource, suite: Range<Int>? = nil, key: Range<Int>? = nil) {
        (self.resource, self.suite, self.key) = (resource, suite, key)
    }

    private static func findUnversioned(_ name: Range<Int>, in bytes: Span<UInt8>) -> Route? {
        if bytes.holds("healthz", in: name) { return Route(.health) }
        if bytes.holds("readyz", in: name) { return Route(.ready) }
        if bytes.holds("metrics", in: name) { return Route(.metrics) }
        if bytes.holds("openapi.json", in: name) { return Route(.apiDescription) }
        return nil
    }

    private static func findVersioned(_ segments: inout PathSegments, in bytes: Span<UInt8>) -> Route? {
        guard let collection = segments.next(in: bytes) else { return Route(.service) }
        // Nearly all requests are for `/v1/suites`, so this comparison comes first.
        if bytes.holds("suites", in: collection) { return findBelowSuites(&segments, in: bytes) }
        if bytes.holds("transaction", in: collection) { return Route(.transaction) }
        if bytes.holds("undo", in: collection) { return Route(.undoInSuites) }
        if bytes.holds("observe", in: collection) { return Route(.observationOfSuites) }
        if bytes.holds("pending", in: collection) {
            guard let id = segments.next(in: bytes) else { return Route(.pending) }
            return id.isEmpty ? nil : Route(.pendingAction, key: id)
        }
        if bytes.holds("caller", in: collection) { return Route(.caller) }
        if bytes.holds("reload", in: collection) { return Route(.reload) }
        if bytes.holds("backup", in: collection) { return Route(.backup) }
        if bytes.holds("cluster", in: collection) { return Route(.cluster) }
        return nil
    }

    private static func findBelowSuites(_ segments: inout PathSegments, in bytes: Span<UInt8>) -> Route? {
        guard let suite = segments.next(in: bytes) else { return Route(.suites) }
        guard !suite.isEmpty else { return nil }
        guard let part = segments.next(in: bytes) else { return Route(.suite, suite: suite) }
        if bytes.holds("keys", in: part) {
            guard let key = segments.next(in: bytes) else { return Route(.keys, suite: suite) }
            return key.isEmpty ? nil : Route(.setting, suite: suite, key: key)
        }
        if bytes.holds("schema", in: part) { return Route(.schema, suite: suite) }
        if bytes.holds("observe", in: part) { return Route(.observation, suite: suite) }
        if bytes.holds("clients", in: part) {
            guard let name = segments.next(in: bytes) else { return Route(.clients, suite: suite) }
            return name.isEmpty ? nil : Route(.client, suite: suite, key: name)
        }
        if bytes.holds("history", in: part) { return Route(.history, suite: suite) }
        if bytes.holds("diff", in: part) { return Route(.difference, suite: suite) }
        if bytes.holds("undo", in: part) { return Route(.undo, suite: suite) }
        if bytes.holds("restore", in: part) { return Route(.restore, suite: suite) }
        if bytes.holds("ofrep", in: part) { return findOpenFeature(&segments, suite, in: bytes) }
        return nil
    }

    /// Finds a resource of OpenFeature's remote evaluation protocol, below `/v1/suites/{suite}/ofrep`.
    private static func findOpenFeature(
        _ segments: inout PathSegments, _ suite: Range<Int>, in bytes: Span<UInt8>
    ) -> Route? {
        guard let version = segments.next(in: bytes), bytes.holds("v1", in: version),
            let part = segments.next(in: bytes)
        else { return nil }
        if bytes.holds("events", in: part) { return Route(.evaluationEvents, suite: suite) }
        guard bytes.holds("evaluate", in: part), let flags = segments.next(in: bytes), bytes.holds("flags", in: flags)
        else { return nil }
        guard let key = segments.next(in: bytes) else { return Route(.evaluationOfAll, suite: suite) }
        return key.isEmpty ? nil : Route(.evaluation, suite: suite, key: key)
    }
}

/// A suggestion for a path that matches no resource: the valid path that the caller probably intended. The suggestion
/// depends only on the path and the table of resources, so it does not reveal stored names.
struct PathSuggestion {
    let path: String
    /// True if the suggested path has `%2F` in the key where the requested path has a slash.
    let escapesSlash: Bool

    /// Finds the valid path with the lowest penalty for corrections; nil if no valid path is similar.
    init?(for path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let isEmpty = { (part: String) in part.isEmpty }
        // Extra slashes at the beginning and the end are ignored. A missing name between two slashes cannot be guessed.
        let names = Array(parts.drop(while: isEmpty).reversed().drop(while: isEmpty).reversed())
        guard !names.contains(where: isEmpty) else { return nil }
        let best = Self.interpretations(of: names).flatMap { interpretation in
            Resource.allCases.compactMap { resource in interpretation.match(resource) }
        }
        .min { $0.penalty < $1.penalty }
        guard let best else { return nil }
        self.path = best.path
        escapesSlash = best.escapesSlash
    }

    static func problem(at path: String) -> Problem {
        guard let suggestion = PathSuggestion(for: path) else {
            return Problem(
                .unknownPath, "there is no resource at this path; \(Resource.service.rawValue) describes the service")
        }
        let reason = suggestion.escapesSlash ? "a / in a key must be escaped as %2F: " : ""
        let hint = "\(reason)did you mean \(suggestion.path)?"
        var problem = Problem(.unknownPath, "there is no resource at this path; \(hint)")
        problem.didYouMean = [suggestion.path]
        return problem
    }

    /// Returns possible corrections of a path: with or without `v1`, with `keys`, or with slashes in the key.
    private static func interpretations(of names: [String]) -> [PathInterpretation] {
        guard let first = names.first else { return [PathInterpretation(names: ["v1"], penalty: 0)] }
        let versioned = first.isPossibleMisspelling(of: "v1") ? names : ["v1"] + names
        var interpretations = [PathInterpretation(names: names, penalty: 0)]
        interpretations.append(PathInterpretation(names: versioned, penalty: 1))
        if versioned.count > 1, first.isPossibleMisspelling(of: "v1") {
            interpretations.append(PathInterpretation(names: Array(names.dropFirst()), penalty: 1))
        }
        // `/v1/suites/app/volume` lacks `keys`.
        if versioned.count == 4 {
            interpretations.append(PathInterpretation(names: versioned[..<3] + ["keys", versioned[3]], penalty: 2))
        }
        // `/v1/suites/app/keys/audio/volume` has a slash in the key.
        if versioned.count > 5 {
            let key = versioned[4...].joined(separator: "%2F")
            interpretations.append(PathInterpretation(names: versioned[..<4] + [key], penalty: 1, escapesSlash: true))
        }
        return interpretations
    }
}

/// The segments of a path after a correction of its structure. The segments may still be misspelled.
private struct PathInterpretation {
    let names: [String]
    /// The penalty is higher for a less likely correction.
    let penalty: Int
    var escapesSlash = false

    /// Puts the names into the path of a resource, and corrects misspelled words, which increases the penalty. Returns
    /// nil if the number of names is wrong, or if a name differs too much from the word at its position.
    func match(_ resource: Resource) -> (path: String, penalty: Int, escapesSlash: Bool)? {
        let template = resource.rawValue.split(separator: "/").map(String.init)
        guard template.count == names.count else { return nil }
        var (path, penalty) = ("", penalty)
        for (word, name) in zip(template, names) {
            if word.hasPrefix("{") {
                path += "/\(name)"
                continue
            }
            guard name.isPossibleMisspelling(of: word) else { return nil }
            if !name.hasSameBytes(as: word) { penalty += 1 }
            path += "/\(word)"
        }
        return (path, penalty, escapesSlash)
    }
}

extension String {
    /// True if the text is the word, or may be a misspelling of the word.
    fileprivate func isPossibleMisspelling(of word: String) -> Bool {
        !NameSuggestion.nearest(to: self, among: [word]).isEmpty
    }
}
