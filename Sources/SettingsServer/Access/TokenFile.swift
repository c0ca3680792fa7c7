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
        let path = Self.followingLinks(path)
        let (bytes, status): ([UInt8], FileStatus)
        do throws(FileError) {
            let file = try OpenFile(path, .reading, in: POSIXFileSystem())
            (bytes, status) = (try file.readAll(), try file.status())
        } catch {
            throw ConfigurationError(
                "cannot read the token file: \(error)",
                remedy: error.isMissing
                    ? "make a token with settingsd token create NAME --grant '*:read' --access.tokens \(path)"
                    : "see that the user who runs settingsd may read it")
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
        do {
            try self.init(json: try JSONValue(parsing: bytes))
        } catch {
            throw ConfigurationError("\(path): \(error)", remedy: "correct the file")
        }
    }

    /// Returns the path that a symbolic link leads to: secrets are often mounted as links.
    private static func followingLinks(_ path: String) -> String {
        guard let target = realpath(path, nil) else { return path }
        defer { free(target) }
        return String(cString: target)
    }

    /// Changes the file, which is made if there is none. It is replaced as a whole, by one command at a time. If the body
    /// throws, nothing is written.
    package static func change<Result>(
        at path: String, _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws(ConfigurationError) -> Result {
        do {
            return try replace(at: followingLinks(path), body)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(
                "cannot write the token file: \(error)", remedy: "see who may write there; the tokens are as before")
        }
    }

    private static func replace<Result>(
        at path: String, _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws -> Result {
        let (files, directory) = (POSIXFileSystem(), path.parentDirectory ?? ".")
        let draft = try draftFile(path + ".new")
        // The lock lasts until the draft is in its place.
        defer { withExtendedLifetime(draft) {} }
        let result: Result
        do {
            let exists = try isThere(path)
            var file = exists ? try TokenFile(at: path, isForRoot: true) : TokenFile()
            result = try body(&file)
            // An administrator may change the file of a daemon that runs as another user, or make one in its directory.
            try draft.write(file, ownedAs: exists ? path : directory)
            try files.rename(draft.path, to: path)
        } catch {
            try? files.remove(draft.path)
            throw error
        }
        try files.syncDirectory(directory)
        return result
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

    /// Makes the file for what will be written, and locks it. One that a command left behind is removed, as its mode and its
    /// owner are not known.
    private static func draftFile(_ path: String) throws -> OpenFile {
        let files = POSIXFileSystem()
        let isBusy = ConfigurationError("another command changes the token file, through \(path)", remedy: "try again")
        guard try isThere(path) else {
            let draft = try OpenFile(path, .new, in: files)
            guard try draft.lock() else { throw isBusy }
            return draft
        }
        // Locked until the new one is, so that of two commands that find it one gives way.
        let left = try OpenFile(path, .reading, in: files)
        guard try left.lock() else { throw isBusy }
        try files.remove(path)
        let draft = try OpenFile(path, .new, in: files)
        guard try draft.lock() else { throw isBusy }
        withExtendedLifetime(left) {}
        return draft
    }
}

extension OpenFile {
    fileprivate func write(_ file: TokenFile, ownedAs example: String) throws(FileError) {
        var writer = JSONWriter(style: .pretty)
        file.write(to: &writer)
        let bytes = writer.bytes + [UInt8(ascii: "\n")]
        try write(bytes.span, at: 0)
        var owner = stat()
        if geteuid() == 0, stat(example, &owner) == 0, chown(path, owner.st_uid, owner.st_gid) != 0 {
            throw FileError(.write, path, code: errno)
        }
        try sync()
    }
}

/// The form of the file.
extension TokenFile: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        tokens = try ObjectReader(json, only: ["tokens"]).required("tokens")
        var names: Set<UTF8Text> = []
        for token in tokens where !names.insert(UTF8Text(token.name)).inserted {
            throw BodyError("the name \(token.name) stands twice")
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("tokens", tokens)
        writer.endObject()
    }
}

extension TokenFile.Token: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["name", "sha256", "grants", "created", "expires"])
        let digest: SHA256 = try reader.required("sha256") { json throws(BodyError) in
            guard let digest = SHA256(hex: try String(json: json)) else {
                throw BodyError("expected 64 hexadecimal digits")
            }
            return digest
        }
        self.init(
            name: try reader.required("name"), digest: digest, grants: try reader.list("grants"),
            created: try reader.required("created"), expires: try reader.optional("expires"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("sha256", digest.hex)
        writer.member("grants", grants)
        writer.member("created", created)
        writer.member("expires", expires)
        writer.endObject()
    }
}
