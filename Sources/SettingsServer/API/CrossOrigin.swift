internal import HTTPWire
internal import SettingsModel

/// The fields by which a browser lets pages of other origins use this daemon (CORS, as the Fetch standard has it), for the
/// origins that are configured. Without any it adds nothing.
struct CrossOrigin {
    /// The fields of every answer: the first for requests that come from none of the origins, then those for each.
    let fields: [FieldBlock]
    /// Where the fields for an origin are.
    private let places: [String: Int]

    init(_ policy: HostPolicy) {
        let origins = policy.origins.sorted { $0.precedesInBytes($1) }
        places = Dictionary(uniqueKeysWithValues: origins.enumerated().map { ($0.element, $0.offset + 1) })
        guard !origins.isEmpty else {
            fields = [FieldBlock()]
            return
        }
        var common = FieldBlock()
        // An answer that a cache keeps is not one for another origin.
        common.append("Vary", "Origin")
        fields =
            [common]
            + origins.map { origin in
                var fields = common
                fields.append("Access-Control-Allow-Origin", text: origin)
                fields.append("Access-Control-Expose-Headers", text: Self.exposed)
                return fields
            }
    }

    /// Which of the fields the answer to a request has.
    func place(of head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        guard !places.isEmpty, let origin = head.field(.origin) else { return 0 }
        return places[bytes.text(in: origin).lowercased()] ?? 0
    }

    /// The answer to a browser that asks what a page may send (a preflight); nil for any other request.
    ///
    /// It says what may be asked at the path, and leaves it to the request that follows to be refused: only of that can the
    /// page read why.
    func preflight(_ head: RequestHead, _ bytes: Span<UInt8>, _ cursor: Cursor) -> Response? {
        guard head.method == .options, head.has(.accessControlRequestMethod), place(of: head, bytes) > 0 else {
            return nil
        }
        let methods = Route(head.path, in: bytes)?.resource.allowed ?? Resource.allowedSomewhere
        var response = Response(allowing: methods, cursor)
        response.fields.append("Access-Control-Allow-Methods", text: methods.joined(separator: ", "))
        let asked = head.field(.accessControlRequestHeaders).map { bytes.text(in: $0) } ?? ""
        let names = Self.allowed + Self.own(among: asked)
        response.fields.append("Access-Control-Allow-Headers", text: names.joined(separator: ", "))
        response.fields.append("Access-Control-Max-Age", integer: Self.secondsKept)
        return response
    }

    /// For how long a browser need not ask again: the longest that Chromium takes.
    private static let secondsKept = 7200

    /// The fields of answers that a page may read, beside those that it may always.
    private static let exposed = DescribedField.answers.map(\.name).joined(separator: ", ")

    /// Of the fields that a page asks for, those that begin as all do which are of this interface alone.
    private static func own(among names: String) -> [String] {
        names.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init).filter {
            $0.hasPrefix("settings-")
        }
    }

    /// The fields of requests that a page may send, beside those that it may always.
    private static let allowed: [String] = {
        var names = ["Content-Type", "Authorization"]
        for resource in Resource.allCases {
            for field in resource.describedMethods.flatMap({ resource.fields(of: $0) })
            where !names.contains(field.name) {
                names.append(field.name)
            }
        }
        return names
    }()
}
