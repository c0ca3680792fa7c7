import SettingsClient
import Synchronization
import TestSupport
import Testing

@Suite(.ownThread, .serialized)
struct DecodingTests {
    /// A value that counts how often values of its type are decoded.
    struct Window: Codable, Hashable, DefaultsSerializable {
        static let decodes = Atomic(0)
        var width: Int

        init(width: Int) {
            self.width = width
        }

        init(from decoder: any Decoder) throws {
            width = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .width)
            Self.decodes.add(1, ordering: .relaxed)
        }
    }

    struct Keys: DefaultsKeyStore {
        var window: DefaultsKey<Window?> { .init("window") }
    }

    @Test(
        "A value is decoded once per revision, for all forms of access to the key", arguments: BackendKind.allCases)
    func once(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, other) = (fixture.adapter(Keys()), fixture.adapter(Keys()))
        let undeclared = DefaultsKey<Window?>("window")
        func readEverywhere(_ width: Int?) {
            for _ in 0..<10 {
                #expect(defaults[\.window]?.width == width)
                #expect(defaults.window?.width == width)
                #expect(defaults[key: undeclared]?.width == width)
                #expect(defaults[key: DefaultsKey<Window?>("window")]?.width == width)
                #expect(defaults[key: Keys().window]?.width == width)
            }
        }
        readEverywhere(nil)
        for width in 1...5 {
            // The write and the 50 reads after it decode the value once.
            let before = Window.decodes.load(ordering: .relaxed)
            defaults.window = Window(width: width)
            readEverywhere(width)
            #expect(Window.decodes.load(ordering: .relaxed) == before + 1)
        }
        try await other.set(\.window, Window(width: 6))
        try await defaults.synchronize()
        let before = Window.decodes.load(ordering: .relaxed)
        readEverywhere(6)
        #expect(Window.decodes.load(ordering: .relaxed) <= before + 1)
        #expect(fixture.drainIssues() == [])
    }
}
