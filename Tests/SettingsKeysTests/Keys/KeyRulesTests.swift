import SettingsKeys
import Testing

/// Which keys say the same of their values.
struct KeyRulesTests {
    /// Two spellings of é, which Swift takes for one.
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    @Test("Text is compared by its bytes") func textComparedBytes() {
        let pattern = DefaultsKey<String?>("k", maxLength: 9, matching: composed)
        #expect(pattern.hasSameRules(as: DefaultsKey<String?>("k", maxLength: 9, matching: composed)))
        #expect(!pattern.hasSameRules(as: DefaultsKey<String?>("k", maxLength: 9, matching: decomposed)))
        let renamed = DefaultsKey<Int?>("k", renamedFrom: [composed])
        #expect(renamed.hasSameRules(as: DefaultsKey<Int?>("k", renamedFrom: [composed])))
        #expect(!renamed.hasSameRules(as: DefaultsKey<Int?>("k", renamedFrom: [decomposed])))
        #expect(KeyTraits(renamedFrom: [composed]) != KeyTraits(renamedFrom: [decomposed]))
        #expect(KeyTraits(description: composed) != KeyTraits(description: decomposed))
    }
}
