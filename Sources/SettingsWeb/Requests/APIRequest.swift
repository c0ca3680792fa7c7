internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A request as far as its head goes: the route, the query and the fields.
///
/// The ranges of the head lead into bytes that are passed along as a span, since a span cannot be kept.
struct APIRequest {
    let head: RequestHead
    let route: Route
    private(set) var query: Query
    /// The caller; nil without access control, and where any caller will do.
    let caller: Caller?
    /// The name that commits carry; nil if nothing says who the caller is.
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
        // Any request that names a place in history may say how long to wait for it.
        query = try Query(parameters, for: route.resource, head.method, and: namesPlace ? [.wait] : [])
    }

    var method: Method { head.method }

    func suite(in bytes: Span<UInt8>) throws(Problem) -> SuiteName { try route.suiteName(in: bytes) }
    func key(in bytes: Span<UInt8>) throws(Problem) -> KeyName { try route.keyName(in: bytes) }

    /// Returns the value of a field, or nil if it was not sent. Several lines of a field are one list.
    func text(_ name: FieldName, in bytes: Span<UInt8>) -> String? {
        guard head.isRepeated(name) else { return head.field(name).map { bytes.text(in: $0) } }
        let values = head.values(of: name, in: bytes).map { bytes.text(in: $0) }
        return values.filter { !$0.isEmpty }.joined(separator: ", ")
    }
}

/// Preconditions.
extension APIRequest {
    /// Reads the guards of a write.
    func guards(in bytes: Span<UInt8>) throws(Problem) -> [WriteRequest.Guard] {
        var guards: [WriteRequest.Guard] = []
        if let guarding = try ifMatch(in: bytes) { guards.append(guarding) }
        if let tags = try knownTags(in: bytes) { guards.append(WriteRequest.Guard(ifNoneMatch: tags)) }
        return guards
    }

    /// Reads `If-Match`; nil if it was not sent.
    func ifMatch(in bytes: Span<UInt8>) throws(Problem) -> WriteRequest.Guard? {
        guard let text = text(.ifMatch, in: bytes) else { return nil }
        return WriteRequest.Guard(ifMatch: try TagList(text, in: "If-Match", comparesWeakly: false))
    }

    /// Reads `If-None-Match`, the tags that the caller knows; nil if it was not sent.
    func knownTags(in bytes: Span<UInt8>) throws(Problem) -> TagList? {
        guard let text = text(.ifNoneMatch, in: bytes) else { return nil }
        return try TagList(text, in: "If-None-Match", comparesWeakly: true)
    }
}

/// Places in history.
extension APIRequest {
    /// True if the request may have to wait for a place in history.
    var namesPlace: Bool { head.has(.settingsAtLeast) || head.has(.settingsFresh) }

    /// Reads `Settings-At-Least`, the place that the answer must not be from before; nil if it was not sent.
    func leastPlace(in bytes: Span<UInt8>) throws(Problem) -> Cursor? {
        guard let text = text(.settingsAtLeast, in: bytes) else { return nil }
        guard let place = Cursor(text) else {
            throw Problem(.badRequest, "Settings-At-Least must be a cursor such as 7f3a.40, but is \"\(text)\"")
        }
        return place
    }

    /// Reads `Settings-Fresh`: true if the answer must not be from before the end of the history.
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
    /// True if `Prefer: return=minimal` asks for an answer without values (RFC 7240). The first `return` counts.
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

    /// True if `Accept` prefers server-sent events to JSON. Where both have the same quality, events must be named.
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

/// A format of a body. A type without a meaning of its own is read as JSON, so that what a command-line tool sends by
/// default does no harm. The names are part of the digests that are stored with idempotency keys.
enum BodyFormat: String {
    case json, mergePatch, jsonPatch
}

/// The media ranges of an `Accept` field, each with its quality in thousandths.
struct MediaRanges {
    private var ranges: [(type: String, quality: Int)] = []

    /// Reads the field. A range whose quality cannot be read counts as not accepted.
    init(_ field: String) {
        for range in field.split(separator: ",") {
            let parts = range.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
            ranges.append((type, quality.map { Self.thousandths($0.dropFirst(2)) } ?? 1000))
        }
    }

    /// True if a type is named itself, not by a range such as `*/*`.
    func names(_ type: String) -> Bool {
        ranges.contains { $0.type == type }
    }

    /// Returns the quality of a type: that of the narrowest range that it is in, or 0.
    func quality(of type: String) -> Int {
        for name in [type, type.prefix { $0 != "/" } + "/*", "*/*"] {
            if let range = ranges.first(where: { $0.type == name }) { return range.quality }
        }
        return 0
    }

    /// Reads a quality such as `0.25`: a digit, and up to three after a point.
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
    /// The text without spaces around it.
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
