internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The parsed head of a request: the route, the query and the header fields. A struct cannot store a span, so this
/// struct stores ranges, and its methods have the bytes as a parameter.
struct APIRequest {
    let head: RequestHead
    let route: Route
    private(set) var query: Query
    /// The caller and its grants; nil if access control is off, or if every caller may send the request.
    let caller: Caller?
    /// The name that the commit of a write records; nil for a method that only reads, and if neither a credential nor
    /// the user of a Unix domain socket identifies the caller.
    let callerName: String?

    init(
        _ head: RequestHead, _ route: Route, in bytes: Span<UInt8>, from caller: Caller?, _ user: PeerUser?
    ) throws(Problem) {
        self.head = head
        self.route = route
        self.caller = caller
        callerName = head.method.isSafe ? nil : caller?.name ?? user?.callerName
        let parameters: QueryParameters
        do {
            parameters = try QueryParameters(bytes, head.query)
        } catch {
            throw Problem(.badRequest, error.reason)
        }
        query = Query()
        guard !parameters.all.isEmpty else { return }
        // Every request that may have to wait for a revision may limit this wait with `wait`.
        query = try Query(parameters, for: route.resource, head.method, additional: hasRevisionField ? [.wait] : [])
    }

    var method: Method { head.method }

    func suite(in bytes: Span<UInt8>) throws(Problem) -> SuiteName { try route.suiteName(in: bytes) }
    func key(in bytes: Span<UInt8>) throws(Problem) -> KeyName { try route.keyName(in: bytes) }

    /// Returns the value of a header field; nil if it is missing. Joins the values of a repeated field with commas.
    func fieldValue(_ name: FieldName, in bytes: Span<UInt8>) -> String? {
        guard head.isRepeated(name) else { return head.field(name).map { bytes.text(in: $0) } }
        let values = head.values(of: name, in: bytes).map { bytes.text(in: $0) }
        return values.filter { !$0.isEmpty }.joined(separator: ", ")
    }
}

/// Preconditions (RFC 9110, section 13).
extension APIRequest {
    /// Reads the preconditions of a write as guards, which are preconditions on the revision of the written object.
    func guards(in bytes: Span<UInt8>) throws(Problem) -> [WriteGuard] {
        var guards: [WriteGuard] = []
        if let ifMatch = try ifMatch(in: bytes) { guards.append(ifMatch) }
        if let tags = try ifNoneMatch(in: bytes) { guards.append(WriteGuard(ifNoneMatch: tags)) }
        return guards
    }

    /// Reads `If-Match`; nil if the request does not have the field.
    func ifMatch(in bytes: Span<UInt8>) throws(Problem) -> WriteGuard? {
        guard let text = fieldValue(.ifMatch, in: bytes) else { return nil }
        return WriteGuard(ifMatch: try TagList(text, in: "If-Match", comparesWeakly: false))
    }

    /// Reads `If-None-Match`, the entity tags that the caller knows; nil if the request does not have the field.
    func ifNoneMatch(in bytes: Span<UInt8>) throws(Problem) -> TagList? {
        guard let text = fieldValue(.ifNoneMatch, in: bytes) else { return nil }
        return try TagList(text, in: "If-None-Match", comparesWeakly: true)
    }
}

/// Fields that demand a minimum revision (the number of a commit) of the state from which the answer comes.
extension APIRequest {
    /// True if the request has the field `Settings-At-Least` or `Settings-Fresh`, even `Settings-Fresh: false`, which
    /// demands no minimum revision.
    var hasRevisionField: Bool { head.has(.settingsAtLeast) || head.has(.settingsFresh) }

    /// Reads `Settings-At-Least`; nil if the request does not have the field. A cursor consists of an epoch, which
    /// names a history, and a revision. The answer must come from a state of this history with at least this revision.
    func minimumCursor(in bytes: Span<UInt8>) throws(Problem) -> Cursor? {
        guard let text = fieldValue(.settingsAtLeast, in: bytes) else { return nil }
        guard let cursor = Cursor(text) else {
            throw Problem(.badRequest, "Settings-At-Least: must be a cursor such as 7f3a.40 (got \"\(text)\")")
        }
        return cursor
    }

    /// Reads `Settings-Fresh`. True if the answer must include every write that was acknowledged before the request
    /// arrived, by this daemon or by another daemon with the same history.
    func demandsFreshState(in bytes: Span<UInt8>) throws(Problem) -> Bool {
        switch fieldValue(.settingsFresh, in: bytes) {
        case nil, "false": return false
        case "true": return true
        case let text?: throw Problem(.badRequest, "Settings-Fresh: must be true or false (got \"\(text)\")")
        }
    }
}

/// The fields `Prefer`, `Accept` and `Content-Type`.
extension APIRequest {
    /// True if `Prefer: return=minimal` asks for an answer without values. Only the first `return` counts (RFC 7240).
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

    /// True if `Accept` prefers server-sent events to JSON. If both types have the same quality, the field must list
    /// `text/event-stream` itself: a range such as `*/*` includes both types and is no preference.
    func prefersEventStream(in bytes: Span<UInt8>) -> Bool {
        guard let text = fieldValue(.accept, in: bytes) else { return false }
        let ranges = MediaRanges(text)
        let (events, json) = (ranges.quality(of: "text/event-stream"), ranges.quality(of: "application/json"))
        return events > json || events == json && events > 0 && ranges.lists("text/event-stream")
    }

    /// The format of the body, according to `Content-Type` without parameters; JSON if the field is missing or
    /// names neither a merge patch nor a JSON Patch.
    func bodyFormat(in bytes: Span<UInt8>) -> BodyFormat {
        guard let field = head.field(.contentType) else { return .json }
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

/// The format of a request body. A body with an unknown media type is parsed as JSON, so that a command-line tool such
/// as curl works with the media type that it sends by default.
///
/// The raw values must not change: digests of requests, which commits store to recognize repeats, depend on them.
enum BodyFormat: String {
    case json, mergePatch, jsonPatch
}

/// The media ranges of an `Accept` field, such as `text/*;q=0.5`, each with its quality in thousandths.
struct MediaRanges {
    private var ranges: [(type: String, quality: Int)] = []

    /// Parses the field. A range without a quality gets 1000, and a range with a malformed quality gets 0.
    init(_ field: String) {
        for range in field.split(separator: ",") {
            let parts = range.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
            ranges.append((type, quality.map { Self.thousandths($0.dropFirst(2)) } ?? 1000))
        }
    }

    /// True if the field lists the type itself, not only a range such as `*/*`.
    func lists(_ type: String) -> Bool { ranges.contains { $0.type == type } }

    /// Returns the quality of the most specific range that includes the type; 0 if no range includes it.
    func quality(of type: String) -> Int {
        for name in [type, type.prefix { $0 != "/" } + "/*", "*/*"] {
            if let range = ranges.first(where: { $0.type == name }) { return range.quality }
        }
        return 0
    }

    /// Parses a quality such as `0.25`: 0 or 1, then optionally a point and up to three digits; 0 for any other text.
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
