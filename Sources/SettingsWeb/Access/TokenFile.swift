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
    /// Reads the file. Throws if it is missing, malformed, too long, open to others, or another user's than this process's or
    /// root's.
    ///
    /// - Parameter isForRoot: true if root may read the file of another user, that of its daemon.
    package init(at path: String, isForRoot: Bool = false) throws(ConfigurationError) {
        self = try Self.read(Self.followingLinks(path), isForRoot: isForRoot).file
    }

    /// The longest file, in bytes: room for about 16,000 tokens.
    fileprivate static let maximumLength = 4 << 20

    private static func read(
        _ path: String, isForRoot: Bool
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
                    ? "make a token with settingsd token create NAME --grant '*:read' --access.tokens \(path)"
                    : "see that the user who runs settingsd may read it")
        }
        guard status.size <= maximumLength else {
            throw ConfigurationError(
                "cannot read the token file \(path): it has \(status.size) bytes, more than \(maximumLength)",
                remedy: "name another file, or remove tokens that have expired")
        }
        let user = ProcessUser.identifier
        let isCommandOfRoot = isForRoot && ProcessUser.isRoot
        // A file of root may be readable for a group of the daemon. The daemon cannot change such a file.
        let isReadableByGroup =
            status.owner == 0 && status.mode & 0o037 == 0
            && (isCommandOfRoot || ProcessUser.isMember(ofGroup: status.group))
        guard !status.isOpenToOthers || isReadableByGroup else {
            throw ConfigurationError(
                "cannot use the token file \(path): its permissions give access to other users",
                remedy: "run chmod 600 \(path)")
        }
        guard status.owner == 0 || status.owner == user || isCommandOfRoot else {
            throw ConfigurationError(
                "the token file \(path) belongs to another user, who may change it",
                remedy: "give it to the user who runs settingsd, or to root: chown \(user) \(path)")
        }
        do {
            return (try TokenFile(json: try JSONValue(parsing: bytes)), status)
        } catch {
            throw ConfigurationError("\(path): \(error)", remedy: "correct the file")
        }
    }

    /// Returns the path that a symbolic link leads to: secrets are often mounted as links.
    package static func followingLinks(_ path: String) -> String {
        POSIXFileSystem.resolveLinks(of: path) ?? path
    }

    /// Changes the file, which is made if there is none. It is replaced as a whole, by one command at a time. If the body
    /// throws, nothing is written.
    ///
    /// - Parameter patience: how long to wait for another command that changes the file.
    package static func change<Result>(
        at path: String, patience: Duration = .seconds(10),
        _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws(ConfigurationError) -> Result {
        do {
            return try replace(at: followingLinks(path), patience, body)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(
                "cannot write the token file: \(error)", remedy: "see who may write there; the tokens are as before")
        }
    }

    private static func replace<Result>(
        at path: String, _ patience: Duration, _ body: (inout TokenFile) throws(ConfigurationError) -> Result
    ) throws -> Result {
        let (files, directory) = (POSIXFileSystem(), path.parentDirectory ?? ".")
        let draft = try lockDraft(path + ".new", patience)
        // The lock lasts until the draft is in its place.
        defer { withExtendedLifetime(draft) {} }
        let result: Result
        do {
            let current = try isThere(path) ? read(path, isForRoot: true) : nil
            var file = current?.file ?? TokenFile()
            result = try body(&file)
            try draft.write(file)
            if ProcessUser.isRoot {
                // The daemon may run as another user: the file keeps its owner, and a new file gets the owner of its directory.
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

    /// Creates the file that will replace the token file, and locks it.
    ///
    /// Only the command that has the lock of the file at this path renames or removes the file. A lock of a file that is no
    /// longer at the path does not count.
    private static func lockDraft(_ path: String, _ patience: Duration) throws -> OpenFile {
        let deadline = ContinuousClock.now + patience
        while true {
            if let draft = try newDraft(path) {
                if try draft.lock(), try draft.isLocated(at: path) { return draft }
            } else if try removeLeftover(path) {
                continue
            }
            guard ContinuousClock.now < deadline else {
                throw ConfigurationError(
                    "cannot change the token file: another command is changing it, through \(path)",
                    remedy: "try again")
            }
            CurrentThread.sleep(for: .milliseconds(10))
        }
    }

    /// Returns nil if the file is there.
    private static func newDraft(_ path: String) throws(FileError) -> OpenFile? {
        do throws(FileError) {
            return try OpenFile(path, .new, in: POSIXFileSystem())
        } catch {
            guard error.code == SystemErrorCode.fileExists else { throw error }
            return nil
        }
    }

    /// Removes the file of a command that was killed: its owner and its permissions are unknown. Returns false if a running
    /// command has the lock.
    private static func removeLeftover(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            let leftover = try OpenFile(path, .reading, in: POSIXFileSystem())
            guard try leftover.lock(), try leftover.isLocated(at: path) else { return false }
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
                "cannot change the token file: it would have \(bytes.count) bytes, more than \(TokenFile.maximumLength)",
                remedy: "revoke tokens that have expired")
        }
        try write(bytes.span, at: 0)
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
