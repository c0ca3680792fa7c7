internal import HTTPWire
internal import Platform
internal import SettingsModel

/// A request as far as its head goes: where it leads and with which names, and the fields that somebody asks for.
///
/// The ranges of the head lead into the bytes that come along as a span wherever one is needed: a span cannot be kept.
struct Incoming {
    let head: RequestHead
    let route: Route
    let query: Query

    init(_ head: RequestHead, _ route: Route, in bytes: Span<UInt8>) throws(Problem) {
        self.head = head
        self.route = route
        let parameters: QueryParameters
        do {
            parameters = try QueryParameters(bytes, head.query)
        } catch {
            throw Problem(.badRequest, error.reason)
        }
        query = parameters.all.isEmpty ? Query() : try Query(parameters, for: route.resource, head.method)
    }

    var method: Method { head.method }

    /// The suite that the path names.
    func suite(in bytes: Span<UInt8>) throws(Problem) -> SuiteName {
        let text = try Self.decoded(route.suite ?? 0..<0, in: bytes)
        do {
            return try SuiteName(text)
        } catch {
            throw Problem(error)
        }
    }

    /// The key that the path names.
    func key(in bytes: Span<UInt8>) throws(Problem) -> KeyName {
        let text = try Self.decoded(route.key ?? 0..<0, in: bytes)
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

    /// The value of a field as text; nil if it was not sent. Several lines of a field are one list.
    func text(_ name: FieldName, in bytes: Span<UInt8>) -> String? {
        guard head.isRepeated(name) else { return head.field(name).map { bytes.text(in: $0) } }
        let values = head.values(of: name, in: bytes).map { bytes.text(in: $0) }
        return values.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// What the request demands of what it writes to.
    func guards(in bytes: Span<UInt8>) throws(Problem) -> [WriteRequest.Guard] {
        var guards: [WriteRequest.Guard] = []
        if let guarding = try ifMatch(in: bytes) { guards.append(guarding) }
        if let text = text(.ifNoneMatch, in: bytes) {
            guards.append(
                WriteRequest.Guard(ifNoneMatch: try TagList(text, in: "If-None-Match", comparesWeakly: true)))
        }
        return guards
    }

    /// What `If-Match` demands; nil if it was not sent.
    func ifMatch(in bytes: Span<UInt8>) throws(Problem) -> WriteRequest.Guard? {
        guard let text = text(.ifMatch, in: bytes) else { return nil }
        return WriteRequest.Guard(ifMatch: try TagList(text, in: "If-Match", comparesWeakly: false))
    }

    /// Whether the caller has what a thing of this revision gives already.
    func isNotModified(_ revision: Revision, in bytes: Span<UInt8>) throws(Problem) -> Bool {
        try knownTags(in: bytes)?.matches(revision) ?? false
    }

    /// The tags of what the caller has already; nil if it does not say.
    func knownTags(in bytes: Span<UInt8>) throws(Problem) -> TagList? {
        guard let text = text(.ifNoneMatch, in: bytes) else { return nil }
        return try TagList(text, in: "If-None-Match", comparesWeakly: true)
    }
}

/// Preferences (RFC 7240).
extension Incoming {
    /// True if the caller wants an answer without values: `Prefer: return=minimal`. Of several words the first holds, and
    /// what is not known is passed over.
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
}

/// What the body of a request is, where that is not said by the resource alone.
enum BodyFormat: String {
    case json, mergePatch, jsonPatch

    /// The format that a request names. Whatever nobody has a special meaning for is read as JSON, so that what a
    /// command-line tool says by default does not matter.
    init(contentType: String?) {
        let type = contentType?.prefix { $0 != ";" }.lowercased() ?? ""
        switch type.trimmed {
        case "application/merge-patch+json": self = .mergePatch
        case "application/json-patch+json": self = .jsonPatch
        default: self = .json
        }
    }
}

extension String {
    /// Without spaces around it.
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
