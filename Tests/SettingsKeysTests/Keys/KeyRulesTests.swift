import SettingsKeys
import Testing

/// Tests of the comparison of the rules of two keys.
struct KeyRulesTests {
    /// Two Unicode spellings of é, which have different bytes and are equal as Swift strings.
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    @Test("Keys whose patterns or former names differ only in their bytes have different rules")
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
