/// From a value, whatever its type, to its JSON.
extension ValueEncoder {
    /// The JSON of a value at this place or inside it: its type's own form if there is one, else what it encodes.
    func json<Value: Encodable>(of value: Value, at place: @autoclosure () -> CodingPlace) throws -> JSONValue {
        if let failure { throw failure }
        if let plain = try form(of: value, at: place(), { try $0.json(ifPlain: value) }) { return plain }
        let place = place()
        if let own = value as? any OwnJSONForm {
            return try form(of: value, at: place) { _ in try own.ownJSON(at: place) }
        }
        guard calls < CodingSession.maximumCalls else { throw place.refusal(.nestedTooDeep, of: value) }
        let encoder = ValueEncoder(at: place, in: session, calls: calls + 1)
        do {
            try value.encode(to: encoder)
            let json = try encoder.finished()
            try form(of: value, at: place) { _ in try DictionaryLoss.check(encoding: value, as: json) }
            return StableOrder.of(json, from: Value.self)
        } catch {
            session.note(error, at: place)
            throw error
        }
    }

    func json(of value: Double, at place: @autoclosure () -> CodingPlace) throws -> JSONValue {
        try form(of: value, at: place()) { try $0.json(value) }
    }

    func json(of value: Float, at place: @autoclosure () -> CodingPlace) throws -> JSONValue {
        try form(of: value, at: place()) { try $0.json(value) }
    }

    func json<Integer: FixedWidthInteger & Sendable>(
        ofInteger value: Integer, at place: @autoclosure () -> CodingPlace
    ) throws -> JSONValue {
        try form(of: value, at: place()) { try $0.json(value) }
    }

    private func form<Value, Form>(
        of value: Value, at place: @autoclosure () -> CodingPlace, _ make: (ScalarForm) throws -> Form
    ) throws -> Form {
        do { return try make(session.scalars) } catch let error as BridgeError {
            throw place().refusal(error, of: value)
        }
    }
}

extension OwnJSONForm {
    /// The value in its own form, if that does not go too deep from here.
    fileprivate func ownJSON(at place: CodingPlace) throws(BridgeError) -> JSONValue {
        let json = try ownJSON
        guard json.isNested(atMost: JSONValue.maximumDepth - place.depth) else { throw .nestedTooDeep }
        return json
    }
}
