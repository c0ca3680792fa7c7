import SettingsKeys
import Testing

/// Tests of stored arrays and sets with elements of a newer program, which the type of this program does not have. A
/// change in place, such as `append`, changes a part of the value. An assignment replaces the whole value.
struct UnknownElementTests {
    enum Feature: String, CaseIterable, DefaultsSerializable {
        case search, voice, mail
    }

    private let list = DefaultsKey<[Feature]>("features", defaultValue: [], elements: .droppingUnknown)
    private let set = DefaultsKey<Set<Feature>>("features", defaultValue: [], elements: .droppingUnknown)
    private let optional = DefaultsKey<[Feature]?>("features", elements: .droppingUnknown)

    @Test func `An unknown element makes an array unreadable unless the key drops unknown elements`() throws {
        let strict = try KeyCodec(DefaultsKey<[Feature]>("features", defaultValue: []))
        #expect(throws: InvalidValue.self) { try strict.decode(["search", "holograms"]) }
        #expect(try KeyCodec(list).decode(["search", "holograms", "mail"]) == [.search, .mail])
        #expect(try KeyCodec(set).decode(["holograms", "mail", "search"]) == [.search, .mail])
        #expect(try KeyCodec(optional).decode(["holograms"]) == [])
        let optionalSet = DefaultsKey<Set<Feature>?>("features", elements: .droppingUnknown)
        #expect(try KeyCodec(optionalSet).decode(["holograms", 3, "mail"]) == [.mail])
    }

    @Test func `A key that drops unknown elements has the same schema as a key that refuses them`() throws {
        let strict = try KeyCodec(DefaultsKey<[Feature]>("features", defaultValue: []))
        #expect(try KeyCodec(list).schema.document == strict.schema.document)
        // The rules of a key also say whether the key drops unknown elements.
        #expect(!list.hasSameRules(as: DefaultsKey<[Feature]>("features", defaultValue: [])))
    }

    @Test func `A key that drops unknown elements refuses a value of another type, and a repeated element of a set`()
        throws
    {
        #expect(throws: InvalidValue.self) { try KeyCodec(list).decode("search") }
        #expect(throws: InvalidValue.self) { try KeyCodec(set).decode(["search", "search"]) }
        #expect(throws: InvalidValue.self) { try KeyCodec(optional).decode(.null) }
    }

    @Test func `A change in place of an array keeps the unknown elements`() throws {
        let codec = try KeyCodec(list)
        /// The JSON to store if a change in place of this array, whose element `holograms` is unknown, gives `new`.
        func changed(to new: JSONValue?) -> JSONValue? {
            codec.keepingUnknownElements(of: ["search", "holograms", "mail"], in: new)
        }
        // If elements are only added at the end, the stored elements keep their order.
        #expect(changed(to: ["search", "mail", "voice"]) == ["search", "holograms", "mail", "voice"])
        // After any other change, the unknown elements are at the end.
        #expect(changed(to: ["mail"]) == ["mail", "holograms"])
        #expect(changed(to: []) == ["holograms"])
        // A removal of the setting removes everything.
        #expect(changed(to: nil) == nil)
        #expect(codec.keepingUnknownElements(of: ["search"], in: ["mail"]) == ["mail"])
        #expect(codec.keepingUnknownElements(of: nil, in: ["mail"]) == ["mail"])
    }

    @Test func `A change in place of a set keeps the unknown elements in canonical order`() throws {
        let codec = try KeyCodec(set)
        #expect(
            codec.keepingUnknownElements(of: ["holograms", "search"], in: ["mail", "voice"])
                == ["holograms", "mail", "voice"])
    }

    @Test func `A change in place of a key that refuses unknown elements does not keep them`() throws {
        let codec = try KeyCodec(DefaultsKey<[Feature]>("features", defaultValue: []))
        #expect(codec.keepingUnknownElements(of: ["holograms"], in: ["mail"]) == ["mail"])
    }
}
