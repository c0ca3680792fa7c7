package import SettingsAPI
package import SettingsModel

/// A set of rights on suites (named sets of settings) and their keys, or on the service as a whole.
package struct Rights: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// To read values and schemas, and to watch them for changes.
    package static let read = Rights(rawValue: 1)
    /// To write values.
    package static let write = Rights(rawValue: 2)
    /// To set and remove schemas.
    package static let schema = Rights(rawValue: 4)
    /// To read the values of secret keys, and to change them with operations on the stored value, such as an increment.
    package static let secrets = Rights(rawValue: 8)
    /// To write keys that the schema declares read-only.
    package static let override = Rights(rawValue: 16)
    /// To administer the service as a whole, which includes backups with all secrets. Implies `metrics` and `reload`.
    package static let admin = Rights(rawValue: 32)
    /// To read the metrics, and the list of the daemons that share a commit log in etcd.
    package static let metrics = Rights(rawValue: 64)
    /// To make the daemon read its configuration again.
    package static let reload = Rights(rawValue: 128)

    fileprivate static let names: [(right: Rights, name: String)] = [
        (.read, "read"), (.write, "write"), (.schema, "schema"), (.secrets, "secrets"), (.override, "override"),
        (.admin, "admin"), (.metrics, "metrics"), (.reload, "reload"),
    ]

    /// The rights that imply `read` on the same suites and keys.
    private static let implyingRead: Rights = [.write, .schema, .secrets, .override]
    /// The rights on the service as a whole. Only a grant on all suites and keys may contain them.
    fileprivate static let onService: Rights = [.admin, .metrics, .reload]

    /// These rights and all rights that they imply.
    var includingImplied: Rights {
        var rights = isDisjoint(with: Self.implyingRead) ? self : union(.read)
        if contains(.admin) { rights.formUnion(Self.onService) }
        return rights
    }

    /// The names of the rights, separated by commas, for example `read,write`.
    var text: String { Self.names.filter { contains($0.right) }.map(\.name).joined(separator: ",") }
}

/// A pattern for the names of suites or keys: either a complete name, or a prefix followed by `*`.
struct NamePattern: Hashable, Sendable {
    /// The name or the prefix, without `*`.
    let start: String
    let isPrefix: Bool

    /// Parses a pattern. A final `*` always means a prefix, so no pattern matches only a single name that ends in `*`.
    init(_ text: String) {
        isPrefix = text.utf8.last == UInt8(ascii: "*")
        start = isPrefix ? String(decoding: text.utf8.dropLast(), as: UTF8.self) : text
    }

    /// True if every name matches.
    var isAny: Bool { isPrefix && start.isEmpty }

    func matches(_ name: String) -> Bool { isPrefix ? name.hasBytePrefix(start) : name.hasSameBytes(as: start) }

    /// True if every name that begins with `prefix` matches.
    func matchesAll(withPrefix prefix: String) -> Bool { isPrefix && prefix.hasBytePrefix(start) }

    var text: String { isPrefix ? start + "*" : start }

    static func == (left: NamePattern, right: NamePattern) -> Bool {
        left.isPrefix == right.isPrefix && left.start.hasSameBytes(as: right.start)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(isPrefix)
        hasher.combine(UTF8Text(start))
    }
}

/// A grant: rights on the suites and keys whose names match patterns.
///
///     app:read                 the suite app
///     app.*:read,write         the suites whose names begin with "app."
///     app/player.*:write       the keys of the suite app whose names begin with "player."
///     *:read,secrets,admin     all suites, and the service as a whole
package struct Grant: Hashable, Sendable, CustomStringConvertible {
    let suites: NamePattern
    let keys: NamePattern
    let rights: Rights
    /// A hash of the text. The hash is the same in every process, because ``Grants/digest`` depends on it and must be
    /// the same after a restart.
    let fingerprint: UInt64

    /// Parses a grant. Throws an error that says how to correct the text.
    package init(_ text: String) throws(BodyError) {
        let bytes = text.utf8
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")) else {
            throw BodyError("the grant \"\(text)\" has no rights; write it like app.*:read,write")
        }
        let patterns = bytes[..<colon]
        // The first slash separates the suite from the key, because only the name of a key may contain slashes.
        let slash = patterns.firstIndex(of: UInt8(ascii: "/"))
        suites = NamePattern(String(decoding: patterns[..<(slash ?? patterns.endIndex)], as: UTF8.self))
        let keyPattern = slash.map { String(decoding: patterns[patterns.index(after: $0)...], as: UTF8.self) }
        keys = NamePattern(keyPattern ?? "*")
        rights = try Self.rights(text[bytes.index(after: colon)...], in: text)
        guard suites.isAny || (try? SuiteName(suites.start)) != nil else {
            throw BodyError("\"\(suites.text)\" is not a pattern for suite names; write app, app.* or *")
        }
        guard keys.isAny || (try? KeyName(keys.start)) != nil else {
            throw BodyError("\"\(keys.text)\" is not a pattern for key names; write volume, player.* or *")
        }
        let onService = rights.intersection(.onService).text
        guard onService.isEmpty || suites.isAny && keys.isAny else {
            throw BodyError(
                "\(onService) applies to the service as a whole; write *:\(onService) as a separate grant")
        }
        guard !rights.contains(.schema) || keys.isAny else {
            throw BodyError(
                "the right 'schema' applies to whole suites; leave out the keys (/\(keys.text)), or the right 'schema'")
        }
        fingerprint = Self.fingerprint(of: Self.text(suites, keys, rights))
    }

    private static func rights(_ list: Substring, in text: String) throws(BodyError) -> Rights {
        var rights: Rights = []
        for name in list.split(separator: ",", omittingEmptySubsequences: false) {
            guard let known = Rights.names.first(where: { $0.name.hasSameBytes(as: String(name)) }) else {
                let names = Rights.names.map(\.name)
                let nearest = NameSuggestion.nearest(to: String(name), among: names, limit: 1).first
                let hint = nearest.map { "did you mean \($0)?" } ?? "the rights are \(names.joined(separator: ", "))"
                throw BodyError("\"\(name)\" in the grant \"\(text)\" is not a right; \(hint)")
            }
            rights.insert(known.right)
        }
        return rights
    }

    private init(_ rights: Rights) {
        (suites, keys, self.rights) = (NamePattern("*"), NamePattern("*"), rights)
        fingerprint = Self.fingerprint(of: Self.text(suites, keys, rights))
    }

    /// The 64-bit FNV-1a hash.
    static func fingerprint(of text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    /// All rights on all suites, all keys and the service as a whole.
    package static let everything = Grant([.read, .write, .schema, .secrets, .override, .admin])

    package var description: String { Self.text(suites, keys, rights) }

    private static func text(_ suites: NamePattern, _ keys: NamePattern, _ rights: Rights) -> String {
        "\(suites.text)\(keys.isAny ? "" : "/\(keys.text)"):\(rights.text)"
    }
}

extension Grant: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) { try self.init(try String(json: json)) }

    package func write(to writer: inout JSONWriter) { writer.write(string: description) }
}
