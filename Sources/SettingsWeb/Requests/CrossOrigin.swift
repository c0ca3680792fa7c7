internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// A set of fields by which browsers let pages of the configured origins use the daemon (CORS). Without origins it adds nothing.
struct CrossOrigin {
    /// The fields to add to answers: first those for requests from no configured origin, then those for each origin.
    let fields: [FieldBlock]
    /// The position in `fields` by origin.
    private let positions: [String: Int]

    /// - Parameter old: the one before, whose positions stay: answers that are owed have them.
    init(_ policy: HostPolicy, after old: CrossOrigin? = nil) {
        var common = FieldBlock()
        // A cache must not use the answer for another origin.
        if !policy.origins.isEmpty { common.append("Vary", "Origin") }
        var fields = [common] + (old?.fields.dropFirst() ?? [])
        var positions: [String: Int] = [:]
        for origin in policy.origins.sorted(by: { $0.precedesInBytes($1) }) {
            positions[origin] = old?.positions[origin] ?? fields.count
            guard positions[origin] == fields.count else { continue }
            var own = common
            own.append("Access-Control-Allow-Origin", text: origin)
            own.append("Access-Control-Expose-Headers", text: Self.answerFields.joined(separator: ", "))
            fields.append(own)
        }
        (self.fields, self.positions) = (fields, positions)
    }

    /// Returns the position in `fields` for the answer to a request.
    func position(of head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        guard !positions.isEmpty, let origin = head.field(.origin) else { return 0 }
        return positions[bytes.text(in: origin).lowercased()] ?? 0
    }

    /// Answers a preflight request; nil for any other request.
    ///
    /// It says what the path allows, and leaves refusals to the request that follows: only that answer can the page read.
    func preflight(_ head: RequestHead, _ bytes: Span<UInt8>, at cursor: @autoclosure () -> Cursor?) -> Response? {
        guard head.method == .options, head.has(.accessControlRequestMethod), position(of: head, bytes) > 0 else {
            return nil
        }
        let methods = Route(head.path, in: bytes)?.resource.allowed ?? Resource.allowedSomewhere
        var response = Response(allowing: methods, cursor())
        response.fields.append("Access-Control-Allow-Methods", text: methods.joined(separator: ", "))
        let asked = head.field(.accessControlRequestHeaders).map { bytes.text(in: $0) } ?? ""
        // Any field that begins as the interface's own do may be one that a later version knows.
        let own = asked.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.filter { $0.hasPrefix("settings-") }
        let names = ["Content-Type", "Authorization", "X-API-Key"] + Self.requestFields + own.map(String.init)
        response.fields.append("Access-Control-Allow-Headers", text: names.joined(separator: ", "))
        // The longest that Chromium remembers the answer, in seconds.
        response.fields.append("Access-Control-Max-Age", integer: 7200)
        return response
    }

    /// The fields of answers that a page may read, as the OpenAPI document lists them.
    static let answerFields = [
        "Settings-Cursor", "ETag", "Settings-Source", "Allow", "Retry-After", "Vary", "Preference-Applied",
        "WWW-Authenticate", "Settings-Stale",
    ]

    /// The fields of requests that a page may send, as the OpenAPI document lists them.
    static let requestFields = [
        "If-Match", "If-None-Match", "Idempotency-Key", "Settings-Note", "Settings-At-Least", "Settings-Fresh",
        "Prefer",
        "Accept", "Last-Event-ID",
    ]
}
