internal import SettingsModel

/// The description of the interface in the form of OpenAPI 3.1.
enum APIDescription {
    /// The document.
    static let bytes: [UInt8] = JSONValue.object([:]).bytes()
}
