internal import SettingsModel

extension JSONValue {
    /// Reads a document that was written by this daemon, round values of any depth that can be stored.
    init(kept bytes: Span<UInt8>) throws(JSONParseError) {
        try self.init(parsing: bytes, maximumDepth: JSONValue.maximumDepthAroundValues)
    }
}
