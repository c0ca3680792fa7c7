/// A type whose values can be settings.
///
/// The standard types conform. A type of yours conforms without code if it is `RawRepresentable` with a raw value that
/// is serializable, or `Codable`; where it is both, the raw value wins. For any other form give it a bridge:
///
///     enum Theme: String, CaseIterable, DefaultsSerializable { case light, dark }
///     struct Account: Codable, DefaultsSerializable { var name: String; var port: Int }
public protocol DefaultsSerializable: Sendable {
    /// The type of the bridge.
    associatedtype Bridge: DefaultsBridge where Bridge.Value == Self

    /// How values of this type travel.
    static var defaultsBridge: Bridge { get }
}

extension DefaultsSerializable where Self: RawRepresentable, RawValue: DefaultsSerializable {
    /// By the raw value.
    public static var defaultsBridge: RawRepresentableBridge<Self> {
        RawRepresentableBridge()
    }
}

extension DefaultsSerializable where Self: Codable {
    /// By what `Codable` says.
    public static var defaultsBridge: CodableBridge<Self> {
        CodableBridge()
    }
}

extension DefaultsSerializable where Self: RawRepresentable & Codable, RawValue: DefaultsSerializable {
    /// By the raw value: where a type is both, that is the plainer form.
    public static var defaultsBridge: RawRepresentableBridge<Self> {
        RawRepresentableBridge()
    }
}
