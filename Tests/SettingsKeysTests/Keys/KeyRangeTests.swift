import SettingsKeys
import SettingsModel
import Testing

/// Tests of keys with ranges, and of keys whose types have the same short name.
struct KeyRangeTests {
    private func document<Value>(_ key: DefaultsKey<Value>) throws -> String {
        JSONValue.object(try key.schemaDocument()).text()
    }

    @Test("Each type of range becomes the equivalent limits in the schema")
    func forms() throws {
        #expect(try document(DefaultsKey<Int?>("n", in: 1...9)) == #"{"type":"integer","minimum":1,"maximum":9}"#)
        #expect(
            try document(DefaultsKey<Int?>("n", in: 1..<9)) == #"{"type":"integer","minimum":1,"exclusiveMaximum":9}"#)
        #expect(try document(DefaultsKey<Int?>("n", in: 1...)) == #"{"type":"integer","minimum":1}"#)
        #expect(try document(DefaultsKey<Int?>("n", in: ...9)) == #"{"type":"integer","maximum":9}"#)
        #expect(try document(DefaultsKey<Int?>("n", in: ..<9)) == #"{"type":"integer","exclusiveMaximum":9}"#)
    }

    @Test("For a type with values beyond Int64, the limits apply to the values within Int64")
    func unsigned() throws {
        #expect(try document(DefaultsKey<UInt?>("n", in: 1...9)) == #"{"type":"integer","minimum":1,"maximum":9}"#)
        // An integer beyond Int64 is stored as a string.
        let atLeastTen = try KeyCodec(DefaultsKey<UInt64?>("n", in: 10...))
        #expect(try atLeastTen.encode(.max) == "18446744073709551615")
        #expect(try atLeastTen.encode(10) == 10)
        #expect(throws: InvalidValue.self) { try atLeastTen.encode(9) }
        // An integer limit beyond Int64 becomes a string, which a schema does not accept as a limit.
        #expect(throws: SchemaError.self) { try KeyCodec(DefaultsKey<UInt64?>("n", in: ...UInt64.max)) }
    }

    @Test("An infinite bound that excludes no number adds no limit, and any other bound that is not finite is refused")
    func infinite() throws {
        #expect(try document(DefaultsKey<Double?>("n", in: 0...Double.infinity)) == #"{"type":"number","minimum":0.0}"#)
        #expect(
            try document(DefaultsKey<Double?>("n", in: -Double.infinity..<1))
                == #"{"type":"number","exclusiveMaximum":1.0}"#)
        #expect(throws: SchemaError.self) { try KeyCodec(DefaultsKey<Double?>("n", in: Double.infinity...)) }
        #expect(throws: SchemaError.self) { try KeyCodec(DefaultsKey<Double?>("n", in: PartialRangeFrom(Double.nan))) }
    }

    private enum One { struct Config: Codable, DefaultsSerializable {} }
    private enum Two { struct Config: Codable, DefaultsSerializable {} }

    @Test("A key defined with two types of the same short name is refused with the qualified names of the types")
    func sameShortName() {
        let keys: [any AnyDefaultsKey] = [DefaultsKey<One.Config?>("cfg"), DefaultsKey<Two.Config?>("cfg")]
        let error = #expect(throws: SchemaError.self) { try Schema(keys: keys) }
        let detail = error?.problems.first?.detail ?? ""
        #expect(detail.contains("One.Config") && detail.contains("Two.Config"), "\(detail)")
    }
}
