internal import HTTPWire
internal import SettingsModel

/// Where a path leads, with the names that stand in it still as they were sent.
struct Route {
    let resource: Resource
    /// The suite's name in the path.
    let suite: Range<Int>?
    /// The key's name in the path.
    let key: Range<Int>?

    /// The resource at a path; nil if there is none.
    init?(_ path: Range<Int>, in bytes: Span<UInt8>) {
        var segments = PathSegments(path)
        guard let first = segments.next(in: bytes) else { return nil }
        let route = bytes.holds("v1", in: first) ? Self.versioned(&segments, in: bytes) : Self.fixed(first, in: bytes)
        guard let route, segments.next(in: bytes) == nil else { return nil }
        self = route
    }

    /// The resource that a request is about, which must be there and know the method.
    init(_ head: RequestHead, in bytes: Span<UInt8>) throws(Problem) {
        guard let route = Route(head.path, in: bytes) else {
            throw PathSuggestion.problem(at: bytes.text(in: head.path))
        }
        guard route.resource.allows(head.method) else { throw Problem(methodOf: head, bytes, at: route.resource) }
        self = route
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
        if bytes.holds("transaction", in: collection) { return Route(.transaction) }
        if bytes.holds("observe", in: collection) { return Route(.observationOfSeveral) }
        guard bytes.holds("suites", in: collection) else { return nil }
        guard let suite = segments.next(in: bytes) else { return Route(.suites) }
        guard !suite.isEmpty else { return nil }
        guard let part = segments.next(in: bytes) else { return Route(.suite, suite: suite) }
        if bytes.holds("schema", in: part) { return Route(.schema, suite: suite) }
        if bytes.holds("observe", in: part) { return Route(.observation, suite: suite) }
        guard bytes.holds("keys", in: part) else { return nil }
        guard let key = segments.next(in: bytes) else { return Route(.keys, suite: suite) }
        return key.isEmpty ? nil : Route(.setting, suite: suite, key: key)
    }
}
