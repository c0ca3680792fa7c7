package import SettingsAPI
package import SettingsModel

/// The grants of a caller: its rights on suites (named sets of settings) and keys. Callers with equal grants share
/// cached responses.
///
/// In this file, a parameter `restrictedGrants` has the grants of a caller that may not read everything. It is nil if
/// the caller may read everything, including secrets. `Rights.includingImplied` adds the rights that a set of rights
/// implies; for example, `write` implies `read`.
package struct Grants: Hashable, Sendable {
    package let list: [Grant]
    private let allowsReadingEverything: Bool
    /// A digest of the grants, with ``Epoch/digestLength`` characters. Entity tags and cursors contain the digest. A
    /// cursor has an epoch (the name of a history) and a revision (the number of a commit). The digest does not depend
    /// on the order of the grants or on the process, so that tags and cursors stay valid after a restart.
    package let digest: String

    package init(_ list: [Grant]) {
        self.list = list
        digest = Self.digest(of: list.reduce(UInt64(0)) { $0 &+ $1.fingerprint })
        let all = list.filter { $0.suites.isAny && $0.keys.isAny }.reduce(into: Rights()) { $0.formUnion($1.rights) }
        allowsReadingEverything = all.includingImplied.isSuperset(of: [.read, .secrets])
    }

    /// Returns the digest of a number, with ``Epoch/digestLength`` characters.
    static func digest(of number: UInt64) -> String {
        // The divisor is 36 to the power of 7, so that the remainder has at most seven digits in base 36. Seven is the
        // length of a digest.
        let digits = String(number % 78_364_164_096, radix: 36)
        return String(repeating: "0", count: Epoch.digestLength - digits.utf8.count) + digits
    }

    /// True if at least one grant applies only to some keys of its suites.
    package var limitsKeys: Bool { list.contains { !$0.keys.isAny } }

    /// These grants; nil if the caller may read everything, including secrets.
    package var restrictedGrants: Grants? { allowsReadingEverything ? nil : self }

    /// The keys of a suite for which a right is required.
    package enum Scope: Equatable {
        /// One key.
        case key(String)
        /// All keys whose names begin with a prefix, including keys that do not exist yet.
        case prefix(String)
        /// The suite as a whole and all of its keys.
        case all
        /// At least one key. The calling code must check each key of the request afterwards.
        case some
    }

    /// True if the caller has a right on keys of a suite.
    package func allows(_ right: Rights, on suite: String, _ scope: Scope) -> Bool {
        list.contains { grant in
            guard grant.rights.includingImplied.isSuperset(of: right), grant.suites.matches(suite) else { return false }
            return switch scope {
            case .key(let key): grant.keys.matches(key)
            case .prefix(let prefix): grant.keys.matchesAll(withPrefix: prefix)
            case .all: grant.keys.isAny
            case .some: true
            }
        }
    }

    /// Throws a 403 error unless the caller has a right on keys of a suite. The result depends only on names, so that
    /// an error does not reveal whether a suite or key exists.
    package func demand(_ right: Rights, on suite: SuiteName, _ scope: Scope) throws(Problem) {
        guard !allows(right, on: suite.text, scope) else { return }
        let keys =
            switch scope {
            case .key(let key): "/\(key)"
            case .prefix(let prefix): "/\(prefix)*"
            case .all, .some: ""
            }
        throw Problem(missing: "\(suite)\(keys):\(right.text)")
    }

    /// Throws a 403 error unless the caller has a right on the service as a whole. The method need not check the suites
    /// and keys of a grant, because only a grant on all suites and keys can contain such a right.
    package func demand(onService right: Rights) throws(Problem) {
        guard !list.contains(where: { $0.rights.includingImplied.contains(right) }) else { return }
        throw Problem(missing: "*:\(right.text)")
    }

    /// True if the caller may read at least one key of a suite.
    package func canRead(_ suite: SuiteName) -> Bool { allows(.read, on: suite.text, .some) }
    /// True if the caller may read at least one secret. A caller with the right `admin` may read all secrets in a
    /// backup.
    package var mayReadSecrets: Bool { list.contains { !$0.rights.isDisjoint(with: [.secrets, .admin]) } }
    package func canReadAll(of suite: SuiteName) -> Bool { allows(.read, on: suite.text, .all) }
    package func canRead(_ suite: SuiteName, _ key: KeyName) -> Bool { allows(.read, on: suite.text, .key(key.text)) }

    func canReadSecret(_ suite: SuiteName, _ key: KeyName) -> Bool { allows(.secrets, on: suite.text, .key(key.text)) }

    /// The shortest prefix of a name for which one grant lets the caller read keys of every suite with the prefix. Nil
    /// if there is no such grant; a grant for a single suite name does not count. The error for a suite that does not
    /// exist suggests only suites with the prefix, so that the error does not reveal the names of other suites.
    func shortestReadablePrefix(of name: String) -> String? {
        list.filter { $0.rights.includingImplied.contains(.read) && $0.suites.matchesAll(withPrefix: name) }
            .map(\.suites.start).min { $0.utf8.count < $1.utf8.count }
    }
}

extension Cursor {
    /// Returns the cursor for a response to a caller. The epoch of the cursor ends in the digest of the caller's
    /// grants, so that the cursor is not valid for other grants.
    package func withGrantsDigest(of restrictedGrants: Grants?) -> Cursor {
        guard let restrictedGrants else { return self }
        return Cursor(epoch: epoch.appending(digest: restrictedGrants.digest), revision: revision)
    }
}

extension SettingState {
    /// Returns the setting, without its value if the setting is a secret that the caller may not read.
    package func shown(to restrictedGrants: Grants?) -> SettingState {
        isHidden(from: restrictedGrants) ? concealed() : self
    }

    /// The entity tag of the setting for a caller. The tag contains the digest of the caller's grants only if these
    /// grants hide the value.
    package func tag(for restrictedGrants: Grants?) -> EntityTag {
        EntityTag(revision, digest: isHidden(from: restrictedGrants) ? restrictedGrants?.digest : nil)
    }

    private func isHidden(from restrictedGrants: Grants?) -> Bool {
        guard isSecret, let restrictedGrants else { return false }
        return !restrictedGrants.canReadSecret(suite, key)
    }
}

extension Suite {
    /// Returns the contents of the suite without the keys that a caller may not read. If the caller may read a key but
    /// not its secret value, the result has the key in `secrets`.
    package func shown(_ contents: SuiteContents, to restrictedGrants: Grants?) -> SuiteContents {
        guard let restrictedGrants else { return contents }
        let seesAll = restrictedGrants.canReadAll(of: id)
        var shown = contents
        func isShown(_ key: KeyName) -> Bool { seesAll || restrictedGrants.canRead(id, key) }
        shown.values = []
        shown.values.reserveCapacity(contents.values.count)
        for entry in contents.values where isShown(entry.key) {
            if !isSecret(record(entry.key)) || restrictedGrants.canReadSecret(id, entry.key) {
                shown.values.append(entry)
            } else {
                shown.secrets.append(entry.key)
            }
        }
        // `invalid` has the stored values that the schema does not allow. `violations` has the violations of schema
        // rules about the whole suite.
        shown.invalid = contents.invalid.filter { $0.key.map(isShown) ?? seesAll }
        shown.violations = contents.violations.filter { $0.isShown(to: restrictedGrants, of: id) }
        return shown
    }

    /// The entity tag of the suite for a caller.
    package func tag(for restrictedGrants: Grants?) -> EntityTag {
        EntityTag(revision, digest: restrictedGrants?.digest)
    }

    /// The entity tag of a setting for a caller. The tag contains the digest of the caller's grants only if these
    /// grants hide the value.
    package func tag(of record: KeyRecord, for restrictedGrants: Grants?) -> EntityTag {
        EntityTag(record.revision, digest: isHidden(record, from: restrictedGrants) ? restrictedGrants?.digest : nil)
    }

    /// True if a caller gets the schema without some of its defaults and examples, because they may be the values of
    /// secrets.
    package func hidesValuesInSchema(from restrictedGrants: Grants?) -> Bool {
        guard let restrictedGrants, schema?.schema.hasSecrets ?? false else { return false }
        return !restrictedGrants.allows(.secrets, on: name, .all)
    }

    /// The number of keys that a caller may read, and how many of these keys have an invalid stored value.
    package func counts(for restrictedGrants: Grants?) -> (keys: Int, invalid: Int) {
        guard let restrictedGrants, !restrictedGrants.canReadAll(of: id) else { return (keyCount, invalidCount) }
        let readable = keys(prefix: "", after: nil, limit: .max).records.filter { restrictedGrants.canRead(id, $0.key) }
        return (readable.count, readable.count { $0.valueSource == .invalid })
    }

    /// True if the key of a record is a secret whose value a caller may not read. A record is the stored value of a
    /// key, with its revision.
    package func isHidden(_ record: KeyRecord, from restrictedGrants: Grants?) -> Bool {
        guard let restrictedGrants else { return false }
        return isSecret(record) && !restrictedGrants.canReadSecret(id, record.key)
    }
}

extension Violation {
    /// True if a caller may read the key that the violation names. A violation without a key may reveal any key of the
    /// suite, so it is shown only to a caller that may read all keys.
    func isShown(to restrictedGrants: Grants, of suite: SuiteName) -> Bool {
        if restrictedGrants.canReadAll(of: suite) { return true }
        return key.map { restrictedGrants.allows(.read, on: suite.text, .key($0)) } ?? false
    }
}

extension Problem {
    /// The error for a missing right. `grant` is the text of a grant that contains the right.
    fileprivate init(missing grant: String) { self.init(.forbidden, "this request requires a grant such as \(grant)") }

    /// The error for an operation on a secret that the caller may not read. `verb` names the operation, such as "read".
    package init(secret key: KeyName, of suite: SuiteName, to verb: String) {
        self.init(
            .forbidden,
            "cannot \(verb) \(key) of suite \(suite): the key is a secret; this requires a grant such as "
                + "\(suite)/\(key):secrets")
    }
}
