/// The changes from one schema of a suite to another, with the effect of each change on the values that are allowed.
///
/// The effect of a change assumes that no other change is made.
package struct SchemaComparison: Sendable {
    /// The effect of a change on the set of allowed values.
    package enum Effect: String, Sendable {
        /// The allowed values stay the same.
        case none
        /// Every value that was allowed stays allowed.
        case widening
        /// No value becomes allowed.
        case narrowing
        /// Some values become allowed and other values are no longer allowed, or the comparison cannot determine the
        /// effect.
        case neither

        /// The effect of two changes together.
        fileprivate func and(_ other: Effect) -> Effect {
            if self == other || other == .none { return self }
            return self == .none ? other : .neither
        }
    }

    /// The subject of a change.
    package enum Subject: Equatable, Sendable {
        /// The key is listed in the new schema only.
        case addedKey
        /// The key is listed in the old schema only.
        case removedKey
        /// A keyword of the key's schema, or of the schema of the suite.
        case keyword(String)
    }

    package struct Change: Equatable, Sendable {
        /// The key; nil for a keyword of the suite as a whole.
        package let key: String?
        package let subject: Subject
        /// The schema of a removed key, or the old value of a keyword; nil if there was none.
        package let old: JSONValue?
        /// The schema of an added key, or the new value of a keyword; nil if there is none.
        package let new: JSONValue?
        package let effect: Effect
        /// True if the key is a secret in one of the schemas, so that its default must not be shown.
        package let isSecret: Bool
    }

    /// The changes of keys in the order of the names' bytes, then the changes of the suite as a whole.
    package private(set) var changes: [Change] = []

    /// Compares two schemas. The old schema is nil for a suite without a schema, which allows any key and any value.
    package init(from old: Schema?, to new: Schema) {
        let (oldKeys, newKeys) = (old?.keys ?? [], new.keys)
        let oldNames = Set(oldKeys.map { UTF8Text($0.name) })
        let added = newKeys.filter { !oldNames.contains(UTF8Text($0.name)) }
        for key in (oldKeys + added).sorted(by: { UTF8Text($0.name) < UTF8Text($1.name) }) {
            compare(key.name, old, new)
        }
        changes += Self.changes(
            of: nil, from: old?.document ?? ["type": "object", "additionalProperties": true], to: new.document)
    }

    private mutating func compare(_ name: String, _ old: Schema?, _ new: Schema) {
        let (wasListed, isListed) = (old?.lists(name) ?? false, new.lists(name))
        let isSecret = old?.isSecret(name) ?? false || new.isSecret(name)
        let (before, after) = (old?.key(name)?.document ?? true, new.key(name)?.document ?? true)
        guard !wasListed || !isListed else {
            changes += Self.changes(of: name, from: before, to: after, isSecret: isSecret)
            return
        }
        let effect = Self.effect(
            from: old.map { $0.conjunction(for: name) } ?? true, to: new.conjunction(for: name))
        changes.append(
            Change(
                key: name, subject: isListed ? .addedKey : .removedKey, old: wasListed ? before : nil,
                new: isListed ? after : nil, effect: effect, isSecret: isSecret))
    }

    private static func changes(
        of key: String?, from old: JSONValue, to new: JSONValue, isSecret: Bool = false
    ) -> [Change] {
        let (old, new) = (old.keywords, new.keywords)
        let names = Set(old.names.map(UTF8Text.init)).union(new.names.map(UTF8Text.init)).map(\.string)
        return names.sorted { $0.precedesInBytes($1) }.compactMap { name in
            // The properties of a suite are its keys, which are compared one by one, and its type is always "object".
            guard old[name] != new[name], key != nil || !["properties", "type"].contains(name) else { return nil }
            let effect = effect(of: name, from: old[name], to: new[name])
            return Change(
                key: key, subject: .keyword(name), old: old[name], new: new[name], effect: effect, isSecret: isSecret)
        }
    }

    /// The effect of the change from one schema to another.
    private static func effect(from old: JSONValue, to new: JSONValue) -> Effect {
        if old == new { return .none }
        if old == false { return .widening }
        if new == false { return .narrowing }
        // The name of a key, even an empty one, makes the method compare `properties` and `type`, too.
        return changes(of: "", from: old, to: new).reduce(.none) { $0.and($1.effect) }
    }

    /// The effect of the change of one keyword, if the other keywords stay the same.
    private static func effect(of name: String, from old: JSONValue?, to new: JSONValue?) -> Effect {
        guard let keyword = SchemaKeyword(rawValue: name) else { return .none }
        switch keyword {
        case .definitions, .properties, .patternProperties, .prefixItems, .contains, .minContains, .maxContains, .if:
            return .neither
        case .items, .propertyNames, .additionalProperties, .then, .else:
            return effect(from: old ?? true, to: new ?? true)
        case _ where keyword.isAnnotation:
            return .none
        case .uniqueItems:
            return old == true ? .widening : new == true ? .narrowing : .none
        default: break
        }
        guard let old else { return .narrowing }
        guard let new else { return .widening }
        // A greater lower bound and a longer list of demands narrow the schema, so their calls swap `old` and `new`.
        switch keyword {
        case .minimum, .exclusiveMinimum, .minLength, .minItems, .minProperties: return boundEffect(from: new, to: old)
        case .maximum, .exclusiveMaximum, .maxLength, .maxItems, .maxProperties: return boundEffect(from: old, to: new)
        case .multipleOf:
            return old.isMultiple(of: new) ? .widening : new.isMultiple(of: old) ? .narrowing : .neither
        case .type: return listEffect(from: old.typeNames, to: new.typeNames)
        case .enum, .anyOf: return listEffect(from: old.array ?? [], to: new.array ?? [])
        case .required, .allOf: return listEffect(from: new.array ?? [], to: old.array ?? [])
        default: return .neither
        }
    }

    /// The effect of the change of an upper bound.
    private static func boundEffect(from old: JSONValue, to new: JSONValue) -> Effect {
        guard let old = JSONNumber(old), let new = JSONNumber(new) else { return .neither }
        return old.isLess(than: new) ? .widening : new.isLess(than: old) ? .narrowing : .none
    }

    /// The effect of the change of a list if a value must satisfy at least one element of the list.
    private static func listEffect(from old: [JSONValue], to new: [JSONValue]) -> Effect {
        let isIn = { (list: [JSONValue]) in
            { (value: JSONValue) in list.contains { $0.isMathematicallyEqual(to: value) } }
        }
        switch (old.allSatisfy(isIn(new)), new.allSatisfy(isIn(old))) {
        case (true, true): return .none
        case (true, false): return .widening
        case (false, true): return .narrowing
        case (false, false): return .neither
        }
    }
}

extension Schema {
    /// The schema that a value of a key must satisfy; `false` if the schema does not allow the key.
    fileprivate func conjunction(for name: String) -> JSONValue {
        let document = key(name)?.document ?? false
        // The document of a key that is not listed already contains the schemas of the matching patterns.
        let patterns = lists(name) ? patternDocuments(for: name) : []
        return patterns.isEmpty ? document : ["allOf": .array([document] + patterns)]
    }
}

extension JSONValue {
    /// The keywords of a schema, with a `const` as an `enum` of one value.
    fileprivate var keywords: JSONObject {
        guard case .object(var object) = self else { return self == false ? ["not": [:]] : [:] }
        if let value = object["const"], object["enum"] == nil {
            object["const"] = nil
            object["enum"] = [value]
        }
        return object
    }

    /// The names of a `type`. A schema that allows numbers allows integers, too.
    fileprivate var typeNames: [JSONValue] {
        let names = array ?? [self]
        return names.contains("number") ? names + ["integer"] : names
    }
}
