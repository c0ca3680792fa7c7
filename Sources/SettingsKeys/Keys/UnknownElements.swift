internal import SettingsModel

/// A rule for the elements of a stored array or set that are no values of the element type.
///
/// A newer program may store a case of an enumeration that this program does not have. By default such an array is no
/// value of the key, so that reading the key is an error.
public struct ElementPolicy<Value: DefaultsSerializable>: Sendable {
    private init() {}
}

extension ElementPolicy where Value: CollectionSetting & Sequence, Value.Element: RawRepresentable {
    /// Leaves out the elements that do not decode when the key is read.
    ///
    /// A change in place keeps them in the stored array. An assignment replaces the whole array.
    public static var droppingUnknown: ElementPolicy {
        ElementPolicy()
    }
}

extension ElementPolicy
where
    Value: OptionalSetting, Value.Wrapped: CollectionSetting & Sequence, Value.Wrapped.Element: RawRepresentable
{
    /// Leaves out the elements that do not decode when the key is read.
    ///
    /// A change in place keeps them in the stored array. An assignment replaces the whole array.
    public static var droppingUnknown: ElementPolicy {
        ElementPolicy()
    }
}

extension ElementPolicy {
    /// Only arrays and sets of raw values have elements that one program knows and another does not.
    @available(*, unavailable, message: "only an array or a set of raw values can have unknown elements")
    @_disfavoredOverload
    public static var droppingUnknown: ElementPolicy {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }
}

/// A bridge of values that are arrays in JSON.
protocol ElementReading: Sendable {
    /// True if the elements are those of a set.
    var hasUniqueElements: Bool { get }

    /// True if the JSON of one element decodes.
    func canDecode(element: JSONValue) -> Bool
}

extension ArrayBridge: ElementReading {
    var hasUniqueElements: Bool { false }

    func canDecode(element json: JSONValue) -> Bool {
        (try? element.decode(json)) != nil
    }
}

extension SetBridge: ElementReading {
    var hasUniqueElements: Bool { true }

    func canDecode(element json: JSONValue) -> Bool {
        elements.canDecode(element: json)
    }
}

extension OptionalBridge: ElementReading {
    var hasUniqueElements: Bool {
        (wrapped as? any ElementReading)?.hasUniqueElements ?? false
    }

    func canDecode(element json: JSONValue) -> Bool {
        (wrapped as? any ElementReading)?.canDecode(element: json) ?? true
    }
}

extension ElementReading {
    /// Returns the JSON without the elements that do not decode.
    func droppingUnknownElements(of json: JSONValue) -> JSONValue {
        guard case .array(let elements) = json else { return json }
        return .array(elements.filter { canDecode(element: $0) })
    }

    /// Returns new JSON together with the unknown elements of the JSON from which a change in place computed the new
    /// JSON.
    ///
    /// Elements at the end that the change added follow the stored elements. After any other change of an array the
    /// unknown elements stand at the end, because their former neighbors may be gone.
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
