internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// Cross-origin resource sharing (CORS): the header fields that make browsers allow web pages of the configured origins
/// to call the daemon. If no origins are configured, answers get no additional fields.
struct CrossOrigin {
    /// The fields to add to answers: the first block for requests without a configured origin, then a block for each
    /// origin. A request comes from an origin if its field `Origin` names the origin.
    let fieldBlocks: [FieldBlock]
    /// The index of the block of each origin in `fieldBlocks`.
    private let blockIndices: [String: Int]

    /// - Parameter old: the value before a reload. Origins keep their indices, which unanswered requests have stored.
    init(_ policy: HostPolicy, replacing old: CrossOrigin? = nil) {
        var common = FieldBlock()
        // A cache must not use an answer for a request from another origin.
        if !policy.origins.isEmpty { common.append("Vary", "Origin") }
        var blocks = [common] + (old?.fieldBlocks.dropFirst() ?? [])
        var indices: [String: Int] = [:]
        for origin in policy.origins.sorted(by: { $0.precedesInBytes($1) }) {
            indices[origin] = old?.blockIndices[origin] ?? blocks.count
            // An origin with an old index has its block already.
            guard indices[origin] == blocks.count else { continue }
            var block = common
            block.append("Access-Control-Allow-Origin", text: origin)
            block.append("Access-Control-Expose-Headers", text: Self.answerFields.joined(separator: ", "))
            blocks.append(block)
        }
        (fieldBlocks, blockIndices) = (blocks, indices)
    }

    /// Returns the index in `fieldBlocks` of the fields for the answer to a request.
    func blockIndex(for head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        guard !blockIndices.isEmpty, let origin = head.field(.origin) else { return 0 }
        return blockIndices[bytes.text(in: origin).lowercased()] ?? 0
    }

    /// Answers a preflight request, which a browser sends before a request of a page. Returns nil for any other
    /// request, and for a preflight request of an origin that is not configured. The answer contains the cursor (the
    /// position in the history), which is nil if the caller must not learn it. The preflight request needs no rights.
    /// The daemon checks the rights for the request that follows, because the page can read the refusal of that
    /// request, but not an answer to the preflight request.
    func preflight(_ head: RequestHead, _ bytes: Span<UInt8>, at cursor: @autoclosure () -> Cursor?) -> Response? {
        guard head.method == .options, head.has(.accessControlRequestMethod), blockIndex(for: head, bytes) > 0 else {
            return nil
        }
        let methods = Route(head.path, in: bytes)?.resource.allowed ?? Resource.methodsOfAllResources
        var response = Response(allowing: methods, cursor())
        response.fields.append("Access-Control-Allow-Methods", text: methods.joined(separator: ", "))
        let requested = head.field(.accessControlRequestHeaders).map { bytes.text(in: $0) } ?? ""
        // Later versions of the API may have other fields, which begin with `Settings-`. A page may send them already.
        let settingsFields = requested.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
            .filter { $0.hasPrefix("settings-") }
        let credentials = ["Authorization", "X-API-Key"]
        let names = ["Content-Type"] + credentials + Self.requestFields + settingsFields.map(String.init)
        response.fields.append("Access-Control-Allow-Headers", text: names.joined(separator: ", "))
        // The seconds for which the browser may cache the answer. Chromium limits them to 7200.
        response.fields.append("Access-Control-Max-Age", integer: 7200)
        return response
    }

    /// The header fields of answers that a page may read. The OpenAPI document of the daemon has the same list.
    static let answerFields = [
        "Settings-Cursor", "ETag", "Settings-Source", "Allow", "Retry-After", "Vary", "Preference-Applied",
        "WWW-Authenticate", "Settings-Stale",
    ]

    /// The header fields of requests that a page may send besides `Content-Type` and the credentials. The OpenAPI
    /// document of the daemon has the same list.
    static let requestFields = [
        "If-Match", "If-None-Match", "Idempotency-Key", "Settings-Note", "Settings-Confirm", "Settings-Until",
        "Settings-Effective", "Settings-At-Least", "Settings-Fresh", "Prefer", "Accept", "Last-Event-ID",
    ]
}
