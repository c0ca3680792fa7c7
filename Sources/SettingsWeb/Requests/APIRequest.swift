internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The parsed head of a request: the route, the query and the header fields.
///
/// The head stores ranges of the request's bytes. Methods take the bytes as a parameter, because a struct cannot store
/// a span.
struct APIRequest {
    let head: RequestHead
    let route: Route
    private(set) var query: Query
    /// The caller; nil if access control is off, or if every caller may send the request.
    let caller: Caller?
    /// The name of the caller, which the commit of a write records; nil for a method that only reads, and if neither a
    /// credential nor the user of a Unix domain socket identifies the caller.
    let by: String?

    init(
        _ head: RequestHead, _ route: Route, in bytes: Span<UInt8>, from caller: Caller?, _ user: PeerUser?
    ) throws(Problem) {
        self.head = head
        self.route = route
        self.caller = caller
        by = head.method.isSafe ? nil : caller?.name ?? user?.callerName
        let parameters: QueryParameters
        do {
            parameters = try QueryParameters(bytes, head.query)
        } catch {
            throw Problem(.badRequest, error.reason)
        }
        query = Query()
        guard !parameters.all.isEmpty else { return }
        // Any request that demands a minimum revision may have the parameter `wait`, the time to wait for that
        // revision.
        query = try Query(parameters, for: route.resource, head.method, and: namesPlace ? [.wait] : [])
    }

    var method: Method { head.method }

    func suite(in bytes: Span<UInt8>) throws(Problem) -> SuiteName { try route.suiteName(in: bytes) }
    func key(in bytes: Span<UInt8>) throws(Problem) -> KeyName { try route.keyName(in: bytes) }

    /// Returns the value of a field; nil if the request does not have the field. Joins the values of several lines with
    /// commas.
    func text(_ name: FieldName, in bytes: Span<UInt8>) -> String? {
        guard head.isRepeated(name) else { return head.field(name).map { bytes.text(in: $0) } }
        let values = head.values(of: name, in: bytes).map { bytes.text(in: $0) }
        return values.filter { !$0.isEmpty }.joined(separator: ", ")
    }
}

/// Preconditions.
extension APIRequest {
    /// Reads the preconditions of a write.
    func guards(in bytes: Span<UInt8>) throws(Problem) -> [WriteRequest.Guard] {
        var guards: [WriteRequest.Guard] = []
        if let guarding = try ifMatch(in: bytes) { guards.append(guarding) }
        if let tags = try knownTags(in: bytes) { guards.append(WriteRequest.Guard(ifNoneMatch: tags)) }
        return guards
    }

    /// Reads `If-Match`; nil if the request does not have the field.
    func ifMatch(in bytes: Span<UInt8>) throws(Problem) -> WriteRequest.Guard? {
        guard let text = text(.ifMatch, in: bytes) else { return nil }
        return WriteRequest.Guard(ifMatch: try TagList(text, in: "If-Match", comparesWeakly: false))
    }

    /// Reads `If-None-Match`, the tags that the caller knows; nil if the request does not have the field.
    func knownTags(in bytes: Span<UInt8>) throws(Problem) -> TagList? {
        guard let text = text(.ifNoneMatch, in: bytes) else { return nil }
        return try TagList(text, in: "If-None-Match", comparesWeakly: true)
    }
}

/// Fields that demand a minimum revision of the state.
extension APIRequest {
    /// True if the request demands a minimum revision, so that it may have to wait until that revision is published.
    var namesPlace: Bool { head.has(.settingsAtLeast) || head.has(.settingsFresh) }

    /// Reads `Settings-At-Least`; nil if the request does not have the field. The answer must come from a state that
    /// includes the commit at this cursor.
    func leastPlace(in bytes: Span<UInt8>) throws(Problem) -> Cursor? {
        guard let text = text(.settingsAtLeast, in: bytes) else { return nil }
        guard let place = Cursor(text) else {
            throw Problem(.badRequest, "Settings-At-Least must be a cursor such as 7f3a.40, but is \"\(text)\"")
        }
        return place
    }

    /// Reads `Settings-Fresh`; true if the answer must include every write that any daemon acknowledged before the
    /// request came.
    func isFresh(in bytes: Span<UInt8>) throws(Problem) -> Bool {
        switch text(.settingsFresh, in: bytes) {
        case nil, "false": return false
        case "true": return true
        case let text?: throw Problem(.badRequest, "Settings-Fresh must be true or false, but is \"\(text)\"")
        }
    }
}

/// Preferences.
extension APIRequest {
    /// True if `Prefer: return=minimal` asks for an answer without values (RFC 7240). Only the first `return` is
    /// significant.
    func prefersMinimal(in bytes: Span<UInt8>) -> Bool {
        guard head.has(.prefer) else { return false }
        for line in head.values(of: .prefer, in: bytes) {
            var preferences = ListElements(line)
            while let preference = preferences.next(in: bytes) {
                let words = bytes.text(in: preference).prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
                let (name, value) = (words.first.map(String.init) ?? "", words.dropFirst().first.map(String.init) ?? "")
                guard name.trimmed.lowercased().hasSameBytes(as: "return") else { continue }
                let wanted = value.trimmed.lowercased()
                return wanted.hasSameBytes(as: "minimal") || wanted.hasSameBytes(as: "\"minimal\"")
            }
        }
        return false
    }

    /// True if `Accept` prefers server-sent events to JSON. If both have the same quality, `text/event-stream` must be
    /// listed itself: a range such as `*/*` is not enough.
    func prefersEvents(in bytes: Span<UInt8>) -> Bool {
        guard let text = text(.accept, in: bytes) else { return false }
        let ranges = MediaRanges(text)
        let (events, json) = (ranges.quality(of: "text/event-stream"), ranges.quality(of: "application/json"))
        return events > json || events == json && events > 0 && ranges.names("text/event-stream")
    }

    /// The format of the body.
    func bodyFormat(in bytes: Span<UInt8>) -> BodyFormat {
        guard !head.isRepeated(.contentType), let field = head.field(.contentType) else { return .json }
        var end = field.lowerBound
        while end < field.upperBound, bytes[end] != UInt8(ascii: ";") { end += 1 }
        while end > field.lowerBound, bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == UInt8(ascii: "\t") {
            end -= 1
        }
        let type = field.lowerBound..<end
        if bytes.holds(ignoringCase: "application/merge-patch+json", in: type) { return .mergePatch }
        if bytes.holds(ignoringCase: "application/json-patch+json", in: type) { return .jsonPatch }
        return .json
    }
}

/// The format of a request body. A body with an unknown media type is read as JSON, so that a command-line tool such as
/// curl works with the media type that it sends by default. The names are part of the digests that commits store with
/// request keys, so they must not change.
enum BodyFormat: String {
    case json, mergePatch, jsonPatch
}

/// The media ranges of an `Accept` field, each with its quality in thousandths.
struct MediaRanges {
    private var ranges: [(type: String, quality: Int)] = []

    /// Parses the field. A range with a malformed quality gets the quality 0.
    init(_ field: String) {
        for range in field.split(separator: ",") {
            let parts = range.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
            ranges.append((type, quality.map { Self.thousandths($0.dropFirst(2)) } ?? 1000))
        }
    }

    /// True if the field lists the type itself. A range such as `*/*` does not count.
    func names(_ type: String) -> Bool {
        ranges.contains { $0.type == type }
    }

    /// Returns the quality of the most specific range that includes the type; 0 if no range includes it.
    func quality(of type: String) -> Int {
        for name in [type, type.prefix { $0 != "/" } + "/*", "*/*"] {
            if let range = ranges.first(where: { $0.type == name }) { return range.quality }
        }
        return 0
    }

    /// Parses a quality such as `0.25`: 0 or 1, and up to three digits after a point. Returns 0 for other texts.
    private static func thousandths(_ text: Substring) -> Int {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "1" else { return 0 }
        let digits = parts.count > 1 ? parts[1] : ""
        guard digits.utf8.count <= 3, digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return 0
        }
        let fraction = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
        return min(1000, (whole == "1" ? 1000 : 0) + fraction)
    }
}

extension String {
    /// The text without leading and trailing spaces and tabs.
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
