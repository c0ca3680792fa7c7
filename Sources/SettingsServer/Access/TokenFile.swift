internal import Glibc
package import Platform
package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// A file of tokens: their names, digests and grants. The file never holds a token.
///
///     {"tokens": [{"name": "ci", "sha256": "9f86…0a08", "grants": ["app.*:read,write"],
///                  "created": "2026-11-20T10:00:00.000Z", "expires": "2027-02-18T10:00:00.000Z"}]}
package struct TokenFile: Sendable {
    package struct Token: Sendable {
        package var name: String
        package var digest: SHA256
        package var grants: [Grant]
        package var created: Timestamp
        package var expires: Timestamp?
    }

    package var tokens: [Token] = []

    package init() {}

    /// Adds a token, and returns its text, which cannot be had again.
    package mutating func create(
        _ name: String, _ grants: [Grant], expires: Timestamp?, now: Timestamp
    ) throws(ConfigurationError) -> String {
        guard Self.isName(name) else {
            throw ConfigurationError(
                "the name \(JSONValue.string(name).briefPhrase)", remedy: "it must be 1 to 64 of A-Z a-z 0-9 . _ -")
        }
        guard position(of: name) == nil else {
            throw ConfigurationError(
                "there is a token \(name) already", remedy: "revoke it first, or choose another name")
        }
        // The system's generator, which is fit for secrets. The beginning lets scanners for leaked secrets find it.
        let random = (0..<4).flatMap { _ in
            let word = UInt64.random(in: 0 ... .max)
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
        }
        let text = "settingsd_" + Self.base64(random)
        tokens.append(
            Token(name: name, digest: SHA256(Array(text.utf8).span), grants: grants, created: now, expires: expires))
        return text
    }

    /// Removes a token. Throws if there is none of that name.
    package mutating func revoke(_ name: String) throws(ConfigurationError) {
        guard let position = position(of: name) else {
            let names = tokens.map(\.name)
            let meant = NameSuggestion.nearest(to: name, among: names, limit: 1).first
            throw ConfigurationError(
                "there is no token \(name)",
                remedy: meant.map { "did you mean \($0)?" } ?? "settingsd token list shows those that there are")
        }
        tokens.remove(at: position)
    }

    private func position(of name: String) -> Int? { tokens.firstIndex { $0.name.hasSameBytes(as: name) } }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && (try? SuiteName(text)) != nil
    }

    /// The alphabet of base64url, without padding.
    private static func base64(_ bytes: [UInt8]) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0...group.count { text.append(letters[bits >> (18 - 6 * place) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The file on disk.
extension TokenFile {
    /// Reads the file. Throws if it is missing, malformed, open to others, or another user's than this process's or root's.
    ///
    /// - Parameter isForRoot: true if root may read the file of another user, that of its daemon.
    package init(at path: String, isForRoot: Bool = false) throws(ConfigurationError) {
        let (bytes, status): ([UInt8], FileStatus)
        do throws(FileError) {
            let file = try OpenFile(path, .reading, in: POSIXFileSystem())
            (bytes, status) = (try file.readAll(), try file.status())
        } catch {
            throw Self.unreadable(path, error)
        }
        guard !status.isOpenToOthers else {
            throw ConfigurationError(
                "other users may read the token file \(path)", remedy: "make it its owner's alone: chmod 600 \(path)")
        }
        let user = geteuid()
        guard status.owner == 0 || status.owner == user || user == 0 && isForRoot else {
            throw ConfigurationError(
                "the token file \(path) belongs to another user, who may change it",
                remedy: "give it to the user who runs settingsd, or to root: chown \(user) \(path)")
        }
        try self.init(bytes, at: path)
    }

    /// Changes the file, which is made if there is none. It is replaced as a whole, by one command at a time. If the body
    /// throws, nothing is written.
    package static func change<Result>(
        at path: String, _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws(ConfigurationError) -> Result {
        let files = POSIXFileSystem()
        let (new, draft, exists): (String, OpenFile?, Bool)
        do throws(FileError) {
            new = path + ".new"
            draft = try draftFile(new)
            exists = try isThere(path)
        } catch {
            throw unreadable(path, error)
        }
        guard let draft else { throw ConfigurationError("another command changes \(path)", remedy: "try again") }
        // The lock lasts until the file is in its place.
        defer { withExtendedLifetime(draft) {} }
        do {
            var file = exists ? try TokenFile(at: path, isForRoot: true) : TokenFile()
            let result = try body(&file)
            // A new file in the directory of a daemon that runs as another user is that user's.
            try file.write(to: draft, ownedAs: exists ? path : path.parentDirectory ?? ".")
            try files.rename(new, to: path)
            try files.syncDirectory(path.parentDirectory ?? ".")
            return result
        } catch let error as ConfigurationError {
            try? files.remove(new)
            throw error
        } catch {
            try? files.remove(new)
            throw ConfigurationError(
                "cannot write \(path): \(error)", remedy: "see who may write there; the tokens are as before")
        }
    }

    private static func isThere(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            _ = try POSIXFileSystem().status(path)
            return true
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
    }

    /// Makes the file for what will be written, and locks it; nil if another command has it locked. One that a command left
    /// behind is removed: its mode and its owner are not known.
    private static func draftFile(_ path: String) throws(FileError) -> OpenFile? {
        let files = POSIXFileSystem()
        do throws(FileError) {
            if try !OpenFile(path, .reading, in: files).lock() { return nil }
            try files.remove(path)
        } catch {
            guard error.isMissing else { throw error }
        }
        let draft = try OpenFile(path, .new, in: files)
        return try draft.lock() ? draft : nil
    }

    private func write(to draft: OpenFile, ownedAs example: String) throws(FileError) {
        try draft.write(bytes.span, at: 0)
        // An administrator may change the file of a daemon that runs as another user.
        var owner = stat()
        if geteuid() == 0, stat(example, &owner) == 0, chown(draft.path, owner.st_uid, owner.st_gid) != 0 {
            throw FileError(.write, draft.path, code: errno)
        }
        try draft.sync()
    }

    private static func unreadable(_ path: String, _ error: FileError) -> ConfigurationError {
        let remedy =
            error.isMissing
            ? "make a token with settingsd token create NAME --grant '*:read' --access.tokens \(path)"
            : "see that the user who runs settingsd may read it"
        return ConfigurationError("cannot read the token file \(path): \(error)", remedy: remedy)
    }
}

/// The form of the file.
extension TokenFile {
    private var bytes: [UInt8] {
        let list = tokens.map { token -> JSONValue in
            var object: JSONObject = [
                "name": .string(token.name), "sha256": .string(token.digest.hex),
                "grants": .array(token.grants.map { .string($0.description) }),
                "created": .string(token.created.description),
            ]
            object["expires"] = token.expires.map { .string($0.description) }
            return .object(object)
        }
        let document: JSONValue = ["tokens": .array(list)]
        return Array((document.text(style: .pretty) + "\n").utf8)
    }

    private init(_ bytes: [UInt8], at path: String) throws(ConfigurationError) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw ConfigurationError("\(path): \(error.description)", remedy: "correct the JSON there")
        }
        guard let object = document.object, object.names.elementsEqual(["tokens"]), let list = object["tokens"]?.array
        else {
            throw ConfigurationError("\(path) is no token file", remedy: "it must be like {\"tokens\": [...]}")
        }
        for (index, json) in list.enumerated() {
            do throws(ConfigurationError) {
                tokens.append(try Token(json))
                let name = tokens[index].name
                if tokens[..<index].contains(where: { $0.name.hasSameBytes(as: name) }) {
                    throw ConfigurationError("the name \(name) stands twice", remedy: "give each token its own")
                }
            } catch {
                throw ConfigurationError("\(path): tokens[\(index)]: \(error.problem)", remedy: error.remedy)
            }
        }
    }
}

extension TokenFile.Token {
    fileprivate init(_ json: JSONValue) throws(ConfigurationError) {
        let known = ["name", "sha256", "grants", "created", "expires"]
        guard let object = json.object else {
            throw ConfigurationError("it is \(json.briefPhrase)", remedy: "it must be an object")
        }
        if let stranger = object.names.first(where: { name in !known.contains { $0.hasSameBytes(as: name) } }) {
            throw ConfigurationError(
                "unknown member \(JSONValue.string(stranger).briefPhrase)",
                remedy: "it may be one of \(known.joined(separator: ", "))")
        }
        func text(_ name: String) throws(ConfigurationError) -> String {
            guard let text = object[name]?.string else {
                throw ConfigurationError("\(name) is missing", remedy: "it must be a string")
            }
            return text
        }
        func time(_ name: String) throws(ConfigurationError) -> Timestamp {
            guard let time = Timestamp(try text(name)) else {
                throw ConfigurationError("\(name) is no time", remedy: "write it like 2027-02-18T10:00:00.000Z")
            }
            return time
        }
        guard let digest = SHA256(hex: try text("sha256")) else {
            throw ConfigurationError("sha256 is no digest", remedy: "it must be 64 hexadecimal digits")
        }
        var grants: [Grant] = []
        for json in object["grants"]?.array ?? [] { grants.append(try Grant(configured: json, "grants")) }
        self.init(
            name: try text("name"), digest: digest, grants: grants, created: try time("created"),
            expires: object["expires"] == nil ? nil : try time("expires"))
    }
}

extension Grant {
    /// Reads a grant of a configuration.
    package init(configured json: JSONValue, _ name: String) throws(ConfigurationError) {
        guard let text = json.string else {
            throw ConfigurationError(
                "\(name) has \(json.briefPhrase)", remedy: "it must be grants like app.*:read,write")
        }
        do {
            self = try Grant(text)
        } catch {
            throw ConfigurationError("\(name): \(error)", remedy: "see docs/security.md for the form of a grant")
        }
    }
}
