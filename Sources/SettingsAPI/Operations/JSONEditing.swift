package import SettingsModel

/// Reading and changing the value at a pointer. Errors say why the pointer does not lead to a value.
extension JSONValue {
    /// Returns the value at a pointer. Throws if there is none.
    package func found(at pointer: JSONPointer) throws(OperationError) -> JSONValue {
        var value = self
        for token in pointer.tokens { value = try value.child(token) }
        return value
    }

    /// Calls `edit` with the value to which all tokens except the last token lead, and with the last token. `edit` must
    /// check that the value is an array or an object. Copies only the values along the path. If the function throws,
    /// the value must not be used any more.
    mutating func editParent<Result>(
        _ tokens: ArraySlice<String>, _ edit: (inout JSONValue, String) throws(OperationError) -> Result
    ) throws(OperationError) -> Result {
        guard let token = tokens.first else { throw OperationError("the whole value has no parent") }
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
            // A value with two owners would be copied when it changes.
            object[token] = .null
            let result = try value.editParent(rest, edit)
            object[token] = value
            self = .object(object)
            return result
        }
        throw noChildren
    }

    /// Moves the elements out of an array, and leaves null in their place. An array with two owners would be copied
    /// when it changes. Returns nil if the value is not an array.
    mutating func takeArray() -> [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        self = .null
        return elements
    }

    /// Moves the members out of an object, and leaves null in their place. Returns nil if the value is not an object.
    mutating func takeObject() -> JSONObject? {
        guard case .object(let object) = self else { return nil }
        self = .null
        return object
    }

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

    /// Returns the index that a token represents. For an insertion, the index after the last element is valid, too.
    static func index(_ token: String, count: Int, forInsertion: Bool = false) throws(OperationError) -> Int {
        let isBehindLast = token.hasSameBytes(as: "-")
        if isBehindLast && forInsertion { return count }
        if let index = JSONPointer.arrayIndex(token) {
            if index < count || forInsertion && index == count { return index }
            throw OperationError(
                "the array has no element at index \(index) (it has \(Plural.count(count, "element")))",
                withoutValues: "the element does not exist")
        }
        let cause =
            isBehindLast
            ? "\"-\" is the position after the last element, which has no value"
            : "\(BodyError.quoted(token)) is not a position in an array"
        throw OperationError(cause, withoutValues: "the element does not exist")
    }

    static func noMember(_ name: String, in object: JSONObject) -> OperationError {
        OperationError(
            "the object has no member \(BodyError.quoted(name))\(NameSuggestion.phrase(for: name, among: object.names))",
            withoutValues: "the member does not exist")
    }

    var noChildren: OperationError {
        OperationError("\(kindPhrase) has no members or elements", withoutValues: "the path does not exist")
    }
}

/// JSON Merge Patch (RFC 7396).
extension JSONValue {
    /// Returns the value after a merge patch. Members keep their order, and new members come last. Throws if the patch
    /// is nested deeper than `maximumDepth`.
    package func merging(_ patch: JSONValue) throws(OperationError) -> JSONValue {
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
