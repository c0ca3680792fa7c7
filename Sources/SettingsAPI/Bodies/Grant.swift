package import SettingsModel

/// A set of rights on suites and their keys, or on the service as a whole.
public struct Rights: OptionSet, Hashable, Sendable {
    /// A bit for each right.
    public let rawValue: UInt8

    /// Makes a set of its bits.
    ///
    /// - Parameter rawValue: a bit for each right.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// To read values and schemas, and to observe them.
    public static let read = Rights(rawValue: 1)
    /// To write values.
    public static let write = Rights(rawValue: 2)
    /// To set and remove schemas.
    public static let schema = Rights(rawValue: 4)
    /// To read the values of secret keys, and to change them in place.
    public static let secrets = Rights(rawValue: 8)
    /// To write locked keys.
    public static let override = Rights(rawValue: 16)
    /// To look after the service as a whole: metrics, reload. Only with all suites.
    public static let admin = Rights(rawValue: 32)

    static let names: [(right: Rights, name: String)] = [
        (.read, "read"), (.write, "write"), (.schema, "schema"), (.secrets, "secrets"), (.override, "override"),
        (.admin, "admin"),
    ]

    /// Every right.
    package static let all = Rights(names.map(\.right))
    /// The rights that include `read` of what they are on.
    private static let onSuites: Rights = [.write, .schema, .secrets, .override]

    /// The rights with those that they include.
    package var complete: Rights { isDisjoint(with: Self.onSuites) ? self : union(.read) }

    /// The names of the rights, as `read,write`.
    public var text: String {
        Self.names.filter { contains($0.right) }.map(\.name).joined(separator: ",")
    }
}

/// A pattern of names: a name, or the beginning of one with `*` after it.
package struct NamePattern: Hashable, Sendable {
    package static let any = NamePattern("*")

    /// The name, or its beginning.
    package let start: String
    package let isPrefix: Bool

    /// Reads a pattern. A name that ends in `*` cannot be meant alone, only with all that begin so.
    package init(_ text: String) {
        isPrefix = text.utf8.last == UInt8(ascii: "*")
        start = isPrefix ? String(decoding: text.utf8.dropLast(), as: UTF8.self) : text
    }

    /// True if every name matches.
    package var isAny: Bool { isPrefix && start.isEmpty }

    package func matches(_ name: String) -> Bool {
        isPrefix ? name.hasBytePrefix(start) : name.hasSameBytes(as: start)
    }

    /// True if every name that begins so matches.
    package func matchesAll(beginning prefix: String) -> Bool {
        isPrefix && prefix.hasBytePrefix(start)
    }

    var text: String { isPrefix ? start + "*" : start }

    package static func == (left: NamePattern, right: NamePattern) -> Bool {
        left.isPrefix == right.isPrefix && left.start.hasSameBytes(as: right.start)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(isPrefix)
        hasher.combine(UTF8Text(start))
    }
}

/// A permission: rights on the suites and keys whose names match.
///
///     app:read                 the suite app
///     app.*:read,write         the suites whose names begin with "app."
///     app/player.*:write       of the suite app, the keys that begin with "player."
///     *:read,secrets,admin     all suites, and the service itself
public struct Grant: Hashable, Sendable, CustomStringConvertible {
    package let suites: NamePattern
    package let keys: NamePattern
    /// The rights.
    public let rights: Rights

    /// Reads a grant. Throws what is wrong with it.
    ///
    /// - Parameter text: the grant as it is written, `app.*:read,write`.
    public init(_ text: String) throws(GrantError) {
        let bytes = text.utf8
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")) else {
            throw GrantError("\"\(text)\" has no rights; write it like app.*:read,write")
        }
        let names = bytes[..<colon]
        // No name of a suite has a slash; names of keys may have anything.
        let slash = names.firstIndex(of: UInt8(ascii: "/"))
        let suites = String(decoding: names[..<(slash ?? names.endIndex)], as: UTF8.self)
        let keys = slash.map { String(decoding: names[names.index(after: $0)...], as: UTF8.self) } ?? "*"
        try self.init(suites: suites, keys: keys, try Self.rights(text[bytes.index(after: colon)...], in: text))
    }

    private init(suites: String, keys: String, _ rights: Rights) throws(GrantError) {
        self.suites = NamePattern(suites)
        self.keys = NamePattern(keys)
        self.rights = rights
        let name = self.suites.start
        guard self.suites.isAny || (try? SuiteName(name)) != nil else {
            throw GrantError("\"\(suites)\" is no pattern of suites; write app, app.* or *")
        }
        guard self.keys.isAny || (try? KeyName(self.keys.start)) != nil else {
            throw GrantError("\"\(keys)\" is no pattern of keys; write volume, player.* or *")
        }
        guard !rights.contains(.admin) || self.suites.isAny && self.keys.isAny else {
            throw GrantError("admin is a right on the service as a whole; write *:admin as a grant of its own")
        }
        guard !rights.contains(.schema) || self.keys.isAny else {
            throw GrantError("schema is a right on whole suites; leave out the keys (/\(keys)), or schema")
        }
    }

    private static func rights(_ list: Substring, in text: String) throws(GrantError) -> Rights {
        var rights: Rights = []
        for word in list.split(separator: ",", omittingEmptySubsequences: false) {
            guard let known = Rights.names.first(where: { $0.name.hasSameBytes(as: String(word)) }) else {
                let names = Rights.names.map(\.name)
                let meant = NameSuggestion.nearest(to: String(word), among: names, limit: 1).first
                let hint = meant.map { "did you mean \($0)?" } ?? "there are \(names.joined(separator: ", "))"
                throw GrantError("\"\(word)\" in \"\(text)\" is no right; \(hint)")
            }
            rights.insert(known.right)
        }
        return rights
    }

    /// All rights on everything.
    package static let everything = Grant(unchecked: .any, .any, .all)

    /// The right to look after the service.
    package static let admin = Grant(unchecked: .any, .any, .admin)

    private init(unchecked suites: NamePattern, _ keys: NamePattern, _ rights: Rights) {
        self.suites = suites
        self.keys = keys
        self.rights = rights
    }

    /// The grant of a right on one suite, or on one key of it.
    package static func needed(_ rights: Rights, on suite: SuiteName, _ key: String? = nil) -> Grant {
        Grant(
            unchecked: NamePattern(suite.text), key.map { NamePattern($0) } ?? .any, rights)
    }

    /// The grant as it is written.
    public var description: String {
        "\(suites.text)\(keys.isAny ? "" : "/\(keys.text)"):\(rights.text)"
    }
}

/// The reason why a text is no grant, with what to write.
public struct GrantError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason in a sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Grant: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let text = try String(json: json)
        do {
            self = try Grant(text)
        } catch {
            throw BodyError(error.description)
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(string: description)
    }
}

/// A report on a configuration that was read again.
public struct ReloadReport: Equatable, Sendable {
    /// The options that have another value now, which counts from the next start on.
    public var needsRestart: [String]

    package init(needsRestart: [String] = []) {
        self.needsRestart = needsRestart
    }
}

extension ReloadReport: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        self.init(needsRestart: try ObjectReader(json).list("needsRestart"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("reloaded", true)
        writer.member("needsRestart", needsRestart)
        writer.endObject()
    }
}

/// A caller as the daemon knows it: the name that its commits carry, and its grants.
public struct CallerState: Equatable, Sendable {
    /// The name, as `token:ci`, `user:alice` or `anonymous`.
    public var name: String
    /// The grants.
    public var grants: [Grant]
    /// The instant from which on the credential is not valid; nil if there is none.
    public var expires: Timestamp?

    package init(name: String, grants: [Grant], expires: Timestamp? = nil) {
        self.name = name
        self.grants = grants
        self.expires = expires
    }
}

extension CallerState: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        // A grant with a right that a newer server knows is left out, as it means nothing here.
        let grants = try reader.list("grants") as [String]
        self.init(
            name: try reader.required("name"), grants: grants.compactMap { try? Grant($0) },
            expires: try reader.optional("expires"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("grants", grants)
        writer.member("expires", expires)
        writer.endObject()
    }
}
