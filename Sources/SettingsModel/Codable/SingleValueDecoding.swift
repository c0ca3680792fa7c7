/// A value that is one other value. The containers of parts come here too, with a decoder for each part.
extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        json.isNull
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: String.Type) throws -> String {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: Double.Type) throws -> Double {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: Float.Type) throws -> Float {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode<Integer: FixedWidthInteger & Decodable & Sendable>(_ type: Integer.Type) throws -> Integer {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: Int128.Type) throws -> Int128 {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: UInt128.Type) throws -> UInt128 {
        try reading(type) { try $0.read(type, from: json) }
    }

    /// A value in its own form if its type has one, else what its `init(from:)` makes of this decoder's JSON.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let plain = try reading(type, { try $0.readPlain(type, from: json) }) { return plain }
        if let form = type as? any OwnJSONForm.Type,
            let own = try reading(type, { _ in try form.init(ownJSON: json) }) as? Value
        {
            return own
        }
        guard calls < CodingSession.maximumCalls else { throw place.corruption(.nestedTooDeep) }
        do {
            let value = try Value(from: ValueDecoder(of: json, at: place, in: session, calls: calls + 1))
            try reading(type) { _ in try DictionaryLoss.check(decoding: json, as: value) }
            return value
        } catch {
            session.note(error, at: place)
            throw error
        }
    }

    private func reading<Value>(
        _ type: Any.Type, _ read: (ScalarForm) throws -> Value
    ) throws -> Value {
        do { return try read(session.scalars) } catch let error as BridgeError {
            throw place.mismatch(error, for: type, found: json)
        }
    }
}
