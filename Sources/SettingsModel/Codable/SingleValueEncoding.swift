/// A value that is one other value: a null, a scalar, or whatever else is encoded at its place.
extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws {
        try setSingle(to: .null)
    }

    func encode(_ value: Bool) throws {
        try setSingle(to: .bool(value))
    }

    func encode(_ value: String) throws {
        try setSingle(to: .string(value))
    }

    func encode(_ value: Double) throws {
        try setSingle(to: json(of: value, at: place))
    }

    func encode(_ value: Float) throws {
        try setSingle(to: json(of: value, at: place))
    }

    func encode<Integer: FixedWidthInteger & Encodable & Sendable>(_ value: Integer) throws {
        try setSingle(to: json(ofInteger: value, at: place))
    }

    func encode(_ value: Int128) throws {
        try setSingle(to: json(ofInteger: value, at: place))
    }

    func encode(_ value: UInt128) throws {
        try setSingle(to: json(ofInteger: value, at: place))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try setSingle(to: json(of: value, at: place))
    }
}
