import SettingsKeys
import Testing

/// Tests of the comparison of the rules of two keys.
struct KeyRulesTests {
    /// Two Unicode spellings of é, which have different bytes and are equal as Swift strings.
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    @Test("Patterns, former names and descriptions of keys that differ only in their bytes are different")
    func textsWithDifferentBytes() {
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
