public import SettingsModel

/// JSON Merge Patch (RFC 7396).
extension JSONValue {
    /// The value with a merge patch applied: members of an object in the patch are merged into those of the value,
    /// null removes, and anything that is no object takes the place of what was there.
    ///
    /// Members keep their order and new ones come last. Takes time in proportion to both together. Fails only where
    /// the patch is nested deeper than ``maximumDepth``.
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
