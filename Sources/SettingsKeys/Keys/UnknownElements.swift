internal import SettingsModel

/// The rule for elements of a stored array or set that the element type cannot decode.
///
/// A newer version of a program may store an enumeration case that this version does not have. By default, the array is
/// then not a valid value of the key, and reading the key fails.
public struct ElementPolicy<Value: DefaultsSerializable>: Sendable {
    private init() {}
}

extension ElementPolicy where Value: CollectionSetting & Sequence, Value.Element: RawRepresentable {
    /// A read leaves out the elements that cannot be decoded.
    ///
    /// A change in place keeps these elements in the stored array. An assignment replaces the whole array.
    public static var droppingUnknown: ElementPolicy {
        ElementPolicy()
    }
}

extension ElementPolicy
where
    Value: OptionalSetting, Value.Wrapped: CollectionSetting & Sequence, Value.Wrapped.Element: RawRepresentable
{
    /// A read leaves out the elements that cannot be decoded.
    ///
    /// A change in place keeps these elements in the stored array. An assignment replaces the whole array.
    public static var droppingUnknown: ElementPolicy {
        ElementPolicy()
    }
}

extension ElementPolicy {
    /// Not available for other values: only an array or a set of `RawRepresentable` elements can have elements that a
    /// program does not know.
    @available(*, unavailable, message: "droppingUnknown needs an array or a set of RawRepresentable elements")
    @_disfavoredOverload
    public static var droppingUnknown: ElementPolicy {
        fatalError("unavailable")
    }
}

/// A bridge (see ``DefaultsBridge``) of arrays, sets or their optionals, which can check each element separately.
protocol ElementCheckingBridge: Sendable {
    /// True if the value is a set.
    var hasUniqueElements: Bool { get }

    func canDecode(element: JSONValue) -> Bool
}

extension ArrayBridge: ElementCheckingBridge {
    var hasUniqueElements: Bool { false }

    func canDecode(element json: JSONValue) -> Bool {
        (try? element.decode(json)) != nil
    }
}

extension SetBridge: ElementCheckingBridge {
    var hasUniqueElements: Bool { true }

    func canDecode(element json: JSONValue) -> Bool {
        elements.canDecode(element: json)
    }
}

extension OptionalBridge: ElementCheckingBridge {
    var hasUniqueElements: Bool {
        (wrapped as? any ElementCheckingBridge)?.hasUniqueElements ?? false
    }

    func canDecode(element json: JSONValue) -> Bool {
        (wrapped as? any ElementCheckingBridge)?.canDecode(element: json) ?? true
    }
}

extension ElementCheckingBridge {
    /// Returns the array without the elements that cannot be decoded.
    func droppingUnknownElements(of json: JSONValue) -> JSONValue {
        guard case .array(let elements) = json else { return json }
        return .array(elements.filter { canDecode(element: $0) })
    }

    /// Returns the new JSON of a change in place, with the unknown elements of the JSON before the change added.
    ///
    /// If the change only appended elements, the result is the stored array followed by the appended elements. After
    /// any other change of an array, the unknown elements are at the end, because their neighbors may have been
    /// removed. The JSON of a set is sorted, so the position of its elements has no meaning.
    func keepingUnknownElements(of base: JSONValue, in new: JSONValue) -> JSONValue {
        guard case .array(let stored) = base, case .array(let changed) = new else { return new }
        let isKnown = stored.map { canDecode(element: $0) }
        let known = zip(stored, isKnown).filter(\.1).map(\.0)
        let unknown = zip(stored, isKnown).filter { !$0.1 }.map(\.0)
        if unknown.isEmpty { return new }
        if hasUniqueElements { return .array((changed + unknown).canonicallySorted()) }
        let isAddition = changed.count >= known.count && changed.prefix(known.count) == known[...]
        return .array(isAddition ? stored + changed[known.count...] : changed + unknown)
    }
}
