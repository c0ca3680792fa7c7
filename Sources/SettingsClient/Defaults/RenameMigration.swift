internal import SettingsAPI
internal import SettingsModel

/// Takes the value of a renamed key over from the name it had before, once.
///
/// Whoever reads the new key first does it: in one transaction the value is stored under the new name and removed from
/// the old, on the condition that nobody has done either meanwhile. So of several programs that start together one
/// succeeds, the others find the new key stored, and none can bring an old value back later.
struct RenameMigration: Hashable, Sendable {
    /// The key as it is named now.
    let key: KeyName
    /// The names it had, the latest first.
    let formerNames: [KeyName]

    /// The migration that a key asks for; nil if it was never renamed. Throws if one of the names cannot be a key's.
    init?(of key: some AnyDefaultsKey) throws(NameError) {
        guard !key.traits.renamedFrom.isEmpty else { return nil }
        self.key = try KeyName(key.name)
        var names: [KeyName] = []
        for name in key.traits.renamedFrom { names.append(try KeyName(name)) }
        formerNames = names
    }

    /// The name whose value is to be taken over: the latest under which something is stored, if nothing is under the
    /// new one.
    func source(isStored: (KeyName) -> Bool) -> KeyName? {
        isStored(key) ? nil : formerNames.first(where: isStored)
    }

    /// The transaction that takes a value over, refused if the new name has become stored or if one of the tests of the
    /// old one does not hold any more.
    func transaction(
        in suite: SuiteName, from former: KeyName, value: JSONValue, while tests: [Transaction.Condition.Test]
    ) -> Transaction {
        Transaction(
            if: [.setting(suite, key, .stored(false))] + tests.map { .setting(suite, former, $0) },
            do: [
                Transaction.Operation(suite: suite, key: key, .set(value)),
                Transaction.Operation(suite: suite, key: former, .delete),
            ])
    }
}
