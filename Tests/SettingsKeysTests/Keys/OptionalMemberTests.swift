import SettingsKeys
import Testing

/// Tests that SettingsKeys adds no static member such as `unset` to `Optional`. In an assignment to an optional
/// enumeration, `.unset` would mean this member instead of the case `unset` of the enumeration.
struct OptionalMemberTests {
    enum Mode: String, CaseIterable, DefaultsSerializable {
        case unset, automatic
    }

    @Test func `In an optional enumeration, the case unset is not nil`() throws {
        let mode: Mode? = .unset
        #expect(mode == Mode.unset)
        let key = try KeyCodec(DefaultsKey<Mode?>("mode", defaultValue: .unset))
        #expect(try key.decode(nil) == Mode.unset)
        #expect(try key.encode(.unset) == "unset")
        #expect(try key.encode(nil) == nil)
    }
}
