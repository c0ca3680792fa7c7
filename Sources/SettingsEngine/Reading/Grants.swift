package import SettingsAPI
package import SettingsModel

/// A list of grants that decides what its holder may do and see. Holders of equal grants share answers.
///
/// Where a reader may be nil, that is one who may see everything, secrets included.
package struct Grants: Hashable, Sendable {
    package let list: [Grant]
    /// True if the holder may see everything, secrets included.
    private let showsEverything: Bool
    /// A digest of the grants in ``Epoch/digestLength`` letters. It does not depend on their order, and is the same on every
    /// daemon, so that tags and cursors stay valid after a restart.
    package let digest: String

    package init(_ list: [Grant]) {
        self.list = list
        let sum = list.reduce(UInt64(0)) { $0 &+ $1.fingerprint }
        // 36 to the power of 7.
        let digits = String(sum % 78_364_164_096, radix: 36)
        digest = String(repeating: "0", count: Epoch.digestLength - digits.utf8.count) + digits
        let all = list.filter { $0.suites.isAny && $0.keys.isAny }.reduce(into: Rights()) { $0.formUnion($1.rights) }
        showsEverything = all.complete.isSuperset(of: [.read, .secrets])
    }

    /// True if a grant is on some keys of its suites only.
    package var limitsKeys: Bool { list.contains { !$0.keys.isAny } }

    /// The grants as a reader's.
    package var reader: Grants? { showsEverything ? nil : self }

    /// The keys of a suite that a right is needed on.
    package enum Scope: Equatable {
        /// One key.
        case key(String)
        /// All keys that begin so, those to come included.
        case prefix(String)
        /// All keys, and the suite as a whole.
        case all
        /// At least one key. The caller checks each key later.
        case some
    }

    /// True if the holder has a right on keys of a suite.
    package func allows(_ right: Rights, on suite: String, _ scope: Scope) -> Bool {
        list.contains { grant in
            guard grant.rights.complete.isSuperset(of: right), grant.suites.matches(suite) else { return false }
            return switch scope {
            case .key(let key): grant.keys.matches(key)
            case .prefix(let prefix): grant.keys.matchesAll(beginning: prefix)
            case .all: grant.keys.isAny
            case .some: true
            }
        }
    }

    /// Throws 403 unless the holder has a right on keys of a suite. The refusal depends on nothing but names.
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

    /// Throws 403 unless the holder has a right on the service as a whole.
    package func demand(onService right: Rights) throws(Problem) {
        guard !list.contains(where: { $0.rights.complete.contains(right) }) else { return }
        throw Problem(missing: "*:\(right.text)")
    }

    package func canRead(_ suite: SuiteName) -> Bool { allows(.read, on: suite.text, .some) }
    /// True if the holder may read some secret, in a backup or otherwise.
    package var mayReadSecrets: Bool { list.contains { !$0.rights.isDisjoint(with: [.secrets, .admin]) } }
    package func canReadAll(of suite: SuiteName) -> Bool { allows(.read, on: suite.text, .all) }
    package func canRead(_ suite: SuiteName, _ key: KeyName) -> Bool { allows(.read, on: suite.text, .key(key.text)) }

    func canReadSecret(_ suite: SuiteName, _ key: KeyName) -> Bool {
        allows(.secrets, on: suite.text, .key(key.text))
    }

    /// The shortest beginning of a name such that all suites with it are seen; nil if there is none.
    func shortestReadablePrefix(of name: String) -> String? {
        list.filter { $0.rights.complete.contains(.read) && $0.suites.matchesAll(beginning: name) }
            .map(\.suites.start).min { $0.utf8.count < $1.utf8.count }
    }
}

extension Cursor {
    /// The cursor of a reader.
    package func marked(for reader: Grants?) -> Cursor {
        guard let reader else { return self }
        return Cursor(epoch: epoch.appending(digest: reader.digest), revision: revision)
    }
}

extension SettingState {
    /// The setting for a reader: a secret without its value, unless the reader has the right.
    package func shown(to reader: Grants?) -> SettingState {
        isHidden(from: reader) ? concealed() : self
    }

    /// The tag of the setting as a reader sees it.
    package func tag(for reader: Grants?) -> EntityTag {
        EntityTag(revision, digest: isHidden(from: reader) ? reader?.digest : nil)
    }

    private func isHidden(from reader: Grants?) -> Bool {
        guard isSecret, let reader else { return false }
        return !reader.canReadSecret(suite, key)
    }
}

extension Suite {
    /// Returns contents of the suite as a reader sees them: secrets that it may not read are listed by name only.
    package func shown(_ contents: SuiteContents, to reader: Grants?) -> SuiteContents {
        guard let reader else { return contents }
        let seesAll = reader.canReadAll(of: id)
        var shown = contents
        func isShown(_ key: KeyName) -> Bool { seesAll || reader.canRead(id, key) }
        shown.values = []
        shown.values.reserveCapacity(contents.values.count)
        for entry in contents.values where isShown(entry.key) {
            if !isSecret(record(entry.key)) || reader.canReadSecret(id, entry.key) {
                shown.values.append(entry)
            } else {
                shown.secrets.append(entry.key)
            }
        }
        shown.invalid = contents.invalid.filter { $0.key.map(isShown) ?? seesAll }
        shown.violations = contents.violations.filter { $0.isShown(to: reader, of: id) }
        return shown
    }

    /// The tag of the suite as a reader sees it.
    package func tag(for reader: Grants?) -> EntityTag {
        EntityTag(revision, digest: reader?.digest)
    }

    /// The tag of a setting as a reader sees it. It depends on the grants only if they hide the value.
    package func tag(of record: KeyRecord, for reader: Grants?) -> EntityTag {
        EntityTag(record.revision, digest: isHidden(record, from: reader) ? reader?.digest : nil)
    }

    /// True if the schema is shown to a reader without some values, as they may be of secrets.
    package func hidesValuesInSchema(from reader: Grants?) -> Bool {
        guard let reader, schema?.schema.hasSecrets ?? false else { return false }
        return !reader.allows(.secrets, on: name, .all)
    }

    /// The number of keys that a reader may see.
    package func keyCount(for reader: Grants?) -> Int {
        guard let reader, !reader.canReadAll(of: id) else { return keyCount }
        return keys(prefix: "", after: nil, limit: .max - 1).records.count { reader.canRead(id, $0.key) }
    }

    /// True if the value of a record is a secret that a reader may not see.
    package func isHidden(_ record: KeyRecord, from reader: Grants?) -> Bool {
        guard let reader else { return false }
        return isSecret(record) && !reader.canReadSecret(id, record.key)
    }
}

extension Violation {
    /// True if a reader may see all that the violation tells: of a rule about the suite that may be any key.
    func isShown(to reader: Grants, of suite: SuiteName) -> Bool {
        if reader.canReadAll(of: suite) { return true }
        return key.map { reader.allows(.read, on: suite.text, .key($0)) } ?? false
    }
}

extension Problem {
    /// The error for a right that is missing.
    ///
    /// - Parameter grant: one that would do.
    fileprivate init(missing grant: String) {
        self.init(.forbidden, "this takes a grant such as \(grant)")
    }

    /// The error for a secret that the caller may not read.
    package init(secret key: KeyName, of suite: SuiteName, to verb: String) {
        self.init(
            .forbidden,
            "to \(verb) \(key) of suite \(suite), which is a secret, takes a grant such as \(suite)/\(key):secrets")
    }
}
