import SettingsHTTP

/// The output of `schema diff` about the schema: a line for each change.
struct SchemaChanges {
    private let changes: [SchemaComparison.Change]
    private let isJSON: Bool

    init(_ changes: [SchemaComparison.Change], isJSON: Bool) {
        (self.changes, self.isJSON) = (changes, isJSON)
    }

    func print() {
        for change in changes { Swift.print(isJSON ? change.summary.text() : change.line) }
    }
}

extension SchemaConflict {
    /// The conflict as a JSON object, for `--json`.
    var summary: JSONValue {
        .members([
            "conflict": true, "key": key.map { .string($0.text) }, "errors": .array(errors.map { .string($0.detail) }),
        ])
    }
}

extension SchemaComparison.Change {
    /// True if `old` and `new` must not be shown, because they may contain a secret: the whole schema of a secret key,
    /// or its `default` or `examples`.
    private var isConcealed: Bool {
        guard isSecret, case .keyword(let name) = subject else { return isSecret }
        return ["default", "examples"].contains(name)
    }

    fileprivate var summary: JSONValue {
        let kind: (name: String, keyword: String?) =
            switch subject {
            case .addedKey: ("added", nil)
            case .removedKey: ("removed", nil)
            case .keyword(let name): ("changed", name)
            }
        return .members([
            "schema": .string(kind.name), "key": key.map { .string($0) }, "keyword": kind.keyword.map { .string($0) },
            "old": isConcealed ? nil : old, "new": isConcealed ? nil : new, "secret": isSecret ? true : nil,
            "effect": .string(effect.rawValue),
        ])
    }

    fileprivate var line: String {
        let name = Terminal.escaped(key ?? "(suite)")
        let shown = { (value: JSONValue?) in
            isConcealed ? "•••" : value.map { Terminal.escaped($0.text()) } ?? "(none)"
        }
        let text =
            switch subject {
            case .addedKey: "+ \(name): \(shown(new))"
            case .removedKey: "- \(name): \(shown(old))"
            case .keyword(let keyword): "~ \(name) \(keyword): \(shown(old)) → \(shown(new))"
            }
        return effect == .none ? text : "\(text) (\(effect.rawValue))"
    }
}
