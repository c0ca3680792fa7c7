public import SettingsModel

/// What has a form in JSON and writes it piece by piece.
///
/// No tree of ``JSONValue`` is built on the way, because answers are rendered far more often than anything else.
public protocol JSONWritable {
    /// Writes exactly one JSON value.
    func write(to writer: inout JSONWriter)
}

extension JSONWritable {
    /// The JSON form as bytes.
    public func jsonBytes(style: JSONWriter.Style = .compact) -> [UInt8] {
        // Most bodies are about one setting; longer ones grow.
        var writer = JSONWriter(style: style, reservingCapacity: 256)
        write(to: &writer)
        return writer.bytes
    }

    /// The JSON form as text.
    public func jsonText(style: JSONWriter.Style = .compact) -> String {
        String(decoding: jsonBytes(style: style), as: UTF8.self)
    }
}

extension JSONValue: JSONWritable {
    /// Writes the value itself.
    public func write(to writer: inout JSONWriter) {
        writer.write(self)
    }
}
