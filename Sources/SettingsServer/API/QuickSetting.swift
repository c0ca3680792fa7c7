internal import HTTPWire
internal import SettingsModel

/// The request that there are most of: one setting, by a path without escapes, without parameters and conditions.
///
/// It is found by the bytes of the path, without making names of them, and answered in the same words as any other way.
extension APIHandler {
    /// The answer, if the request is such a one and the setting has a value.
    func quickly(_ head: RequestHead, _ bytes: Span<UInt8>) -> Response? {
        nil
    }
}
