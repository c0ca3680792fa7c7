import SettingsKeys
import Testing

/// Tests that the members that SettingsKeys adds to standard types do not hide the members of a program's types.
struct OptionalMemberTests {
    enum Mode: String, CaseIterable, DefaultsSerializable {
        case unset, limit
    }

    @Test func `A case named unset of an optional enumeration is the case and not nil`() throws {
        let mode: Mode? = .unset
        #expect(mode == Mode.unset)
        let key = try KeyCodec(DefaultsKey<Mode?>("mode", defaultValue: .unset))
        #expect(try key.decode(nil) == Mode.unset)
        #expect(try key.encode(.unset) == "unset")
        #expect(try key.encode(nil) == nil)
    }
}
