internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// A route that a path leads to: the resource, and the names in the path as they were sent.
struct Route {
    let resource: Resource
    /// The bytes of the suite's name in the path.
    let suite: Range<Int>?
    /// The bytes of the key's name in the path.
    let key: Range<Int>?

    /// Finds the resource at a path; nil if there is none.
    init?(_ path: Range<Int>, in bytes: Span<UInt8>) {
        var segments = PathSegments(path)
        guard let first = segments.next(in: bytes) else { return nil }
        let route = bytes.holds("v1", in: first) ? Self.versioned(&segments, in: bytes) : Self.fixed(first, in: bytes)
        guard let route, segments.next(in: bytes) == nil else { return nil }
        self = route
    }

    /// Finds the resource of a request. Throws if there is none (404), or if it does not know the method (405).
    init(_ head: RequestHead, in bytes: Span<UInt8>) throws(Problem) {
        guard let route = Route(head.path, in: bytes) else {
            throw PathSuggestion.problem(at: bytes.text(in: head.path))
        }
        guard route.resource.allows(head.method) else { throw Problem(methodOf: head, bytes, at: route.resource) }
        self = route
    }

    /// Reads the name of the suite in the path.
    func suiteName(in bytes: Span<UInt8>) throws(Problem) -> SuiteName {
        let text = try Self.decoded(suite ?? 0..<0, in: bytes)
        do {
            return try SuiteName(text)
        } catch {
            throw Problem(error)
        }
    }

    /// Reads the name of the key in the path.
    func keyName(in bytes: Span<UInt8>) throws(Problem) -> KeyName {
        let text = try Self.decoded(key ?? 0..<0, in: bytes)
        do {
            return try KeyName(text)
        } catch {
            throw Problem(error)
        }
    }

    private static func decoded(_ range: Range<Int>, in bytes: Span<UInt8>) throws(Problem) -> String {
        do {
            return try PercentDecoding.text(bytes, range)
        } catch {
            throw Problem(.badRequest, error.reason)
        }
    }

    private init(_ resource: Resource, suite: Range<Int>? = nil, key: Range<Int>? = nil) {
        self.resource = resource
        self.suite = suite
        self.key = key
    }

    private static func fixed(_ name: Range<Int>, in bytes: Span<UInt8>) -> Route? {
        if bytes.holds("healthz", in: name) { return Route(.health) }
        if bytes.holds("readyz", in: name) { return Route(.ready) }
        if bytes.holds("metrics", in: name) { return Route(.metrics) }
        if bytes.holds("openapi.json", in: name) { return Route(.description) }
        return nil
    }

    private static func versioned(_ segments: inout PathSegments, in bytes: Span<UInt8>) -> Route? {
        guard let collection = segments.next(in: bytes) else { return Route(.service) }
        // First, as nearly all requests are below it.
        if bytes.holds("suites", in: collection) { return inSuites(&segments, in: bytes) }
        if bytes.holds("transaction", in: collection) { return Route(.transaction) }
        if bytes.holds("undo", in: collection) { return Route(.undoOfSeveral) }
        if bytes.holds("observe", in: collection) { return Route(.observationOfSeveral) }
        if bytes.holds("caller", in: collection) { return Route(.caller) }
        if bytes.holds("reload", in: collection) { return Route(.reload) }
        if bytes.holds("backup", in: collection) { return Route(.backup) }
        if bytes.holds("cluster", in: collection) { return Route(.cluster) }
        return nil
    }

    /// Finds what is below `suites`.
    private static func inSuites(_ segments: inout PathSegments, in bytes: Span<UInt8>) -> Route? {
        guard let suite = segments.next(in: bytes) else { return Route(.suites) }
        guard !suite.isEmpty else { return nil }
        guard let part = segments.next(in: bytes) else { return Route(.suite, suite: suite) }
        if bytes.holds("keys", in: part) {
            guard let key = segments.next(in: bytes) else { return Route(.keys, suite: suite) }
            return key.isEmpty ? nil : Route(.setting, suite: suite, key: key)
        }
        if bytes.holds("schema", in: part) { return Route(.schema, suite: suite) }
        if bytes.holds("observe", in: part) { return Route(.observation, suite: suite) }
        if bytes.holds("history", in: part) { return Route(.history, suite: suite) }
        if bytes.holds("diff", in: part) { return Route(.difference, suite: suite) }
        if bytes.holds("undo", in: part) { return Route(.undo, suite: suite) }
        if bytes.holds("restore", in: part) { return Route(.restore, suite: suite) }
        if bytes.holds("ofrep", in: part) { return openFeature(&segments, suite, in: bytes) }
        return nil
    }

    /// Finds what is below `ofrep` of a suite.
    private static func openFeature(
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

/// A path that the caller probably meant by one that leads nowhere.
///
/// It is made from the path and the table of resources alone, so it reveals nothing of what is stored.
struct PathSuggestion {
    let path: String
    /// True if the key was written with a slash that should have been escaped.
    let escapesSlash: Bool

    /// Finds the most probable path; nil if none is near.
    init?(for path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let isEmpty = { (part: String) in part.isEmpty }
        // Extra slashes at either end are ignored. An empty name in between cannot be guessed.
        let names = Array(parts.drop(while: isEmpty).reversed().drop(while: isEmpty).reversed())
        guard !names.contains(where: isEmpty) else { return nil }
        let best = Self.readings(of: names).flatMap { reading in
            Resource.allCases.compactMap { resource in reading.fit(resource) }
        }
        .min { $0.cost < $1.cost }
        guard let best else { return nil }
        self.path = best.path
        escapesSlash = best.escapesSlash
    }

    /// The error for a path that leads nowhere.
    static func problem(at path: String) -> Problem {
        guard let meant = PathSuggestion(for: path) else {
            return Problem(
                .unknownPath, "there is nothing at this path; \(Resource.service.rawValue) tells what there is")
        }
        let reason = meant.escapesSlash ? "a / in a key is written %2F: " : ""
        var problem = Problem(.unknownPath, "there is nothing at this path; \(reason)did you mean \(meant.path)?")
        problem.didYouMean = [meant.path]
        return problem
    }

    /// The ways to read the names of a path, each with a cost that says how far-fetched it is.
    private static func readings(of names: [String]) -> [PathReading] {
        guard let first = names.first else { return [PathReading(names: ["v1"], cost: 0)] }
        let versioned = first.isNear("v1") ? names : ["v1"] + names
        var readings = [PathReading(names: names, cost: 0), PathReading(names: versioned, cost: 1)]
        if versioned.count > 1, first.isNear("v1") {
            readings.append(PathReading(names: Array(names.dropFirst()), cost: 1))
        }
        if versioned.count == 4 {
            readings.append(PathReading(names: versioned[..<3] + ["keys", versioned[3]], cost: 2))
        }
        if versioned.count > 5 {
            let key = versioned[4...].joined(separator: "%2F")
            readings.append(PathReading(names: versioned[..<4] + [key], cost: 1, escapesSlash: true))
        }
        return readings
    }
}

/// A reading of the names of a path as they may have been meant.
private struct PathReading {
    let names: [String]
    let cost: Int
    var escapesSlash = false

    /// Fits the names into the path of a resource; nil if a fixed word of that path is not among them.
    func fit(_ resource: Resource) -> (path: String, cost: Int, escapesSlash: Bool)? {
        let template = resource.rawValue.split(separator: "/").map(String.init)
        guard template.count == names.count else { return nil }
        var (path, cost) = ("", cost)
        for (word, name) in zip(template, names) {
            if word.hasPrefix("{") {
                path += "/\(name)"
                continue
            }
            guard name.isNear(word) else { return nil }
            if !name.hasSameBytes(as: word) { cost += 1 }
            path += "/\(word)"
        }
        return (path, cost, escapesSlash)
    }
}

extension String {
    /// True if this may be a misspelling of a word.
    fileprivate func isNear(_ word: String) -> Bool {
        !NameSuggestion.nearest(to: self, among: [word]).isEmpty
    }
}
