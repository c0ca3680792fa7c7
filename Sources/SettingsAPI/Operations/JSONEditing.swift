public import SettingsModel

/// Finding and changing what a pointer leads to, with a reason where it leads nowhere.
extension JSONValue {
    /// The value at a place that has to be there.
    func found(at pointer: JSONPointer) throws(OperationError) -> JSONValue {
        var value = self
        for token in pointer.tokens { value = try value.child(token) }
        return value
    }

    /// Changes the array or object that holds the last step of a path, in place: nothing beside the path is copied.
    /// The steps before the last have to be there. After an error the value is to be thrown away.
    mutating func editParent<Result>(
        _ tokens: ArraySlice<String>, _ edit: (inout JSONValue, String) throws(OperationError) -> Result
    ) throws(OperationError) -> Result {
        guard let token = tokens.first else { throw OperationError("there is nothing around the whole value") }
        let rest = tokens.dropFirst()
        if rest.isEmpty { return try edit(&self, token) }
        if var elements = takeArray() {
            let index = try Self.index(token, count: elements.count)
            let result = try elements[index].editParent(rest, edit)
            self = .array(elements)
            return result
        }
        if var object = takeObject() {
            guard var value = object[token] else { throw Self.noMember(token, in: object) }
            object[token] = .null
            let result = try value.editParent(rest, edit)
            object[token] = value
            self = .object(object)
            return result
        }
        throw noChildren
    }

    /// Takes the elements out, if this is an array, and leaves null: what is held twice would be copied when it
    /// changes. These are functions because a pattern would hold the second until its scope ends.
    mutating func takeArray() -> [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        self = .null
        return elements
    }

    /// Takes the members out, if this is an object, and leaves null.
    mutating func takeObject() -> JSONObject? {
        guard case .object(let object) = self else { return nil }
        self = .null
        return object
    }

    /// One step inwards.
    private func child(_ token: String) throws(OperationError) -> JSONValue {
        switch self {
        case .array(let elements):
            return elements[try Self.index(token, count: elements.count)]
        case .object(let object):
            guard let value = object[token] else { throw Self.noMember(token, in: object) }
            return value
        default:
            throw noChildren
        }
    }

    /// The position of an element that has to be there.
    static func index(_ token: String, count: Int) throws(OperationError) -> Int {
        let index = try position(token)
        guard index < count else { throw noElement(index, count: count) }
        return index
    }

    /// The position that an element can be inserted at: that of another one, or after the last.
    static func insertionIndex(_ token: String, count: Int) throws(OperationError) -> Int {
        if token.hasSameBytes(as: "-") { return count }
        let index = try position(token)
        guard index <= count else { throw noElement(index, count: count) }
        return index
    }

    private static func position(_ token: String) throws(OperationError) -> Int {
        if let index = JSONPointer.arrayIndex(token) { return index }
        let what =
            token.hasSameBytes(as: "-")
            ? "- is only the place after the last element" : "\(BodyError.quoted(token)) is no position in an array"
        throw OperationError(what, withoutValues: "no such element")
    }

    private static func noElement(_ index: Int, count: Int) -> OperationError {
        OperationError("there is no element \(index), the array has \(count)", withoutValues: "no such element")
    }

    static func noMember(_ name: String, in object: JSONObject) -> OperationError {
        OperationError(
            "the object has no member \(BodyError.quoted(name))\(NameSuggestion.phrase(for: name, among: object.names))",
            withoutValues: "no such member")
    }

    var noChildren: OperationError {
        OperationError("\(kindPhrase) has no members or elements", withoutValues: "no such place")
    }
}

/// JSON Merge Patch (RFC 7396).
extension JSONValue {
    /// The value with a merge patch applied: members of an object in the patch are merged into those of the value,
    /// null removes, and anything that is no object takes the place of what was there.
    ///
    /// Members keep their order and new ones come last. Takes time in proportion to both together. Fails only where
    /// the patch is nested deeper than `maximumDepth`.
    public func merging(_ patch: JSONValue) throws(OperationError) -> JSONValue {
        guard patch.isNested(atMost: Self.maximumDepth) else { throw .tooDeep }
        var merged = self
        merged.merge(patch)
        return merged
    }

    private mutating func merge(_ patch: JSONValue) {
        guard case .object(let changes) = patch else {
            self = patch
            return
        }
        var members = takeObject() ?? JSONObject()
        if !members.isEmpty, changes.contains(where: \.value.isNull) {
            members.removeAll { changes[$0.name]?.isNull ?? false }
        }
        for change in changes where !change.value.isNull {
            var value = JSONValue.null
            if case .object = change.value, let present = members[change.name] {
                value = present
                members[change.name] = .null
            }
            value.merge(change.value)
            members[change.name] = value
        }
        self = .object(members)
    }
}
