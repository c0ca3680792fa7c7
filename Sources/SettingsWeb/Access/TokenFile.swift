package import Platform
package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// The token file, which defines the tokens that the daemon accepts, each with a name, a digest and grants (rights on
/// settings). The file contains only the digests of the tokens, so a reader of the file learns no token.
///
///     {"tokens": [{"name": "ci", "sha256": "9f86…0a08", "grants": ["app.*:read,write"],
///                  "created": "2026-11-20T10:00:00.000Z", "expires": "2027-02-18T10:00:00.000Z"}]}
package struct TokenFile: Sendable {
    package struct Token: Sendable {
        package var name: String
        /// The digest of the text that the client sends.
        package var digest: SHA256
        package var grants: [Grant]
        package var created: Timestamp
        /// Nil if the token does not expire.
        package var expires: Timestamp?
    }

    package var tokens: [Token] = []

    package init() {}

    /// Adds a token, and returns its text. The text cannot be recovered from the file.
    package mutating func create(
        _ name: String, _ grants: [Grant], expires: Timestamp?, now: Timestamp
    ) throws(ConfigurationError) -> String {
        guard Self.isValidName(name) else {
            throw ConfigurationError(
                "cannot use the name \(JSONValue.string(name).briefPhrase) for a token",
                remedy: "use 1 to 64 of the characters A-Z a-z 0-9 . _ -, and no dot at the start")
        }
        guard position(of: name) == nil else {
            throw ConfigurationError(
                "there is already a token \(name)", remedy: "revoke it first, or choose another name")
        }
        // The random numbers are cryptographically secure. The prefix lets scanners for leaked
        // secrets recognize a token.
        let random = (0..<4).flatMap { _ in
            let word = UInt64.random(in: 0 ... .max)
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
        }
        let text = "settingsd_" + Self.base64URL(random)
        tokens.append(
            Token(name: name, digest: SHA256(Array(text.utf8).span), grants: grants, created: now, expires: expires))
        return text
    }

    package mutating func revoke(_ name: String) throws(ConfigurationError) {
        guard let position = position(of: name) else {
            let names = tokens.map(\.name)
            let suggestion = NameSuggestion.nearest(to: name, among: names, limit: 1).first
            throw ConfigurationError(
                "there is no token \(name)",
                remedy: suggestion.map { "did you mean \($0)?" } ?? "settingsd token list shows the existing tokens")
        }
        tokens.remove(at: position)
    }

    private func position(of name: String) -> Int? { tokens.firstIndex { $0.name.hasSameBytes(as: name) } }

    /// A token name consists of the same characters as the name of a suite.
    private static func isValidName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && (try? SuiteName(text)) != nil
    }

    /// Encodes bytes as base64url without padding.
    private static func base64URL(_ bytes: [UInt8]) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0...group.count { text.append(letters[bits >> (18 - 6 * digit) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Reading and writing the file on disk.
extension TokenFile {
    /// Reads the file. Throws if the file is missing, malformed or too long, if its owner is neither root nor the user
    /// of this process, or if other users have access to it. A group of this process may read a file that root owns.
    ///
    /// - Parameter acceptsAnyOwnerForRoot: true if a process of root accepts a file of any owner. The commands of an
    ///   administrator need this, because the file may belong to the user of the daemon.
    package init(at path: String, acceptsAnyOwnerForRoot: Bool = false) throws(ConfigurationError) {
        self = try Self.read(Self.followingLinks(path), acceptsAnyOwnerForRoot: acceptsAnyOwnerForRoot).file
    }

    /// The maximum length of the file in bytes: about 16,000 tokens.
    fileprivate static let maximumLength = 4 << 20

    private static func read(
        _ path: String, acceptsAnyOwnerForRoot: Bool
    ) throws(ConfigurationError) -> (file: TokenFile, status: FileStatus) {
        let (bytes, status): ([UInt8], FileStatus)
        do throws(FileError) {
            let file = try OpenFile(path, .reading, in: POSIXFileSystem())
            status = try file.status()
            bytes = status.size <= maximumLength ? try file.readAll() : []
        } catch {
            throw ConfigurationError(
                "cannot read the token file: \(error)",
                remedy: error.isMissing
                    ? "create a token with settingsd token create NAME --grant '*:read' --access.tokens \(path)"
                    : "give read permission to the user who runs settingsd")
        }
        guard status.size <= maximumLength else {
            throw ConfigurationError(
                "cannot read the token file \(path): it has \(status.size) bytes, more than \(maximumLength)",
                remedy: "set access.tokens to another token file, or remove tokens that have expired")
        }
        let user = ProcessUser.identifier
        let acceptsAnyOwner = acceptsAnyOwnerForRoot && ProcessUser.isRoot
        // A group of this process may have read permission for a file of root: the group cannot change the file. The
        // mask 0o037 has all other permissions of the group and of other users.
        let isReadableByGroup =
            status.owner == 0 && status.mode & 0o037 == 0
            && (acceptsAnyOwner || ProcessUser.isMember(ofGroup: status.group))
        guard !status.isOpenToGroupOrOthers || isReadableByGroup else {
            throw ConfigurationError(
                "cannot use the token file \(path): its permissions give access to other users",
                remedy: "run chmod 600 \(path)")
        }
        guard status.owner == 0 || status.owner == user || acceptsAnyOwner else {
            throw ConfigurationError(
                "cannot use the token file \(path): it belongs to another user, who may change it",
                remedy: "make root or the user who runs settingsd its owner: chown \(user) \(path)")
        }
        do {
            return (try TokenFile(json: try JSONValue(parsing: bytes)), status)
        } catch {
            throw ConfigurationError("\(path): \(error)", remedy: "correct the file")
        }
    }

    /// Resolves symbolic links, because secrets are often mounted as symbolic links.
    package static func followingLinks(_ path: String) -> String {
        POSIXFileSystem.resolveLinks(of: path) ?? path
    }

    /// Changes the file, or creates the file if it does not exist. The change replaces the file atomically, and a lock
    /// prevents concurrent changes. If the body throws, the file is not changed.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for another process that changes the file.
    ///   - body: changes the tokens.
    package static func change<Result>(
        at path: String, timeout: Duration = .seconds(10),
        _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws(ConfigurationError) -> Result {
        do {
            return try replace(at: followingLinks(path), timeout, body)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(
                "cannot write the token file: \(error)",
                remedy: "check the permissions of the directory; the tokens have not changed")
        }
    }

    private static func replace<Result>(
        at path: String, _ timeout: Duration, _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws -> Result {
        let (files, directory) = (POSIXFileSystem(), path.parentDirectory ?? ".")
        let draft = try lockDraft(path + ".new", timeout)
        // The lock is held until the draft has replaced the token file.
        defer { withExtendedLifetime(draft) {} }
        let result: Result
        do {
            let current = try fileExists(at: path) ? read(path, acceptsAnyOwnerForRoot: true) : nil
            var file = current?.file ?? TokenFile()
            result = try body(&file)
            try draft.write(file)
            if ProcessUser.isRoot {
                // The daemon may run as another user: keep the owner of the file, or use the owner of the directory.
                var access = try current?.status ?? files.status(directory)
                if current == nil { access.mode = 0o600 }
                try draft.setAccess(like: access)
            }
            try draft.sync()
            try files.rename(draft.path, to: path)
        } catch {
            try? files.remove(draft.path)
            throw error
        }
        do {
            try files.syncDirectory(directory)
        } catch {
            throw ConfigurationError(
                "the token file has changed, but a power failure may lose the change: \(error)",
                remedy: "check the disk, list the tokens, and revoke a token whose text was not printed")
        }
        return result
    }

    private static func fileExists(at path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            _ = try POSIXFileSystem().status(path)
            return true
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
    }

    /// Creates the draft, which is the file that will replace the token file, and locks the draft. Only a process that
    /// has locked the draft may rename or remove it. After locking, the process checks that the path still leads to the
    /// locked file, because another process may have renamed or removed the file before.
    private static func lockDraft(_ path: String, _ timeout: Duration) throws -> OpenFile {
        let deadline = ContinuousClock.now + timeout
        while true {
            if let draft = try createDraft(path) {
                if try draft.lock(), try draft.isLocated(at: path) { return draft }
            } else if try removeAbandonedDraft(path) {
                continue
            }
            guard ContinuousClock.now < deadline else {
                throw ConfigurationError(
                    "cannot change the token file: another command is changing it, and has locked \(path)",
                    remedy: "try again")
            }
            CurrentThread.sleep(for: .milliseconds(10))
        }
    }

    /// Creates the draft; nil if a file exists at the path.
    private static func createDraft(_ path: String) throws(FileError) -> OpenFile? {
        do throws(FileError) {
            return try OpenFile(path, .new, in: POSIXFileSystem())
        } catch {
            guard error.code == SystemErrorCode.fileExists else { throw error }
            return nil
        }
    }

    /// Removes the draft of a killed process, instead of using it again, because its owner and permissions are unknown.
    /// Returns true if the path then has no file. Returns false if a running process has locked the draft, or has
    /// renamed or removed the draft in the meantime.
    private static func removeAbandonedDraft(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            let draft = try OpenFile(path, .reading, in: POSIXFileSystem())
            guard try draft.lock(), try draft.isLocated(at: path) else { return false }
            try POSIXFileSystem().remove(path)
            return true
        } catch {
            guard error.isMissing else { throw error }
            return true
        }
    }
}

extension OpenFile {
    fileprivate func write(_ file: TokenFile) throws {
        var writer = JSONWriter(style: .pretty)
        file.write(to: &writer)
        let bytes = writer.bytes + [UInt8(ascii: "\n")]
        guard bytes.count <= TokenFile.maximumLength else {
            throw ConfigurationError(
                "cannot change the token file: it would have \(bytes.count) bytes, more than "
                    + "\(TokenFile.maximumLength)",
                remedy: "revoke tokens that have expired")
        }
        try write(bytes.span, at: 0)
    }
}

extension TokenFile: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        tokens = try ObjectReader(json, only: ["tokens"]).required("tokens")
        var names: Set<UTF8Text> = []
        for token in tokens where !names.insert(UTF8Text(token.name)).inserted {
            throw BodyError("the name \(token.name) occurs twice")
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
                throw BodyError("must be 64 hexadecimal digits")
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
