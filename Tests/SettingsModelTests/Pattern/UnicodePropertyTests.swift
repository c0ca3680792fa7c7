import Testing

@testable import SettingsModel

@Suite("Unicode properties and sets of scalars")
struct UnicodePropertyTests {
    static let categories = """
        Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl Currency_Symbol Sc \
        Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf \
        Initial_Punctuation Pi Letter L Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark \
        Math_Symbol Sm Modifier_Letter Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C \
        Other_Letter Lo Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co \
        Punctuation P punct Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt \
        Unassigned Cn Uppercase_Letter Lu
        """.split(separator: " ").map { String($0) }

    static let binaries = """
        ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M \
        Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL \
        Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash \
        Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod \
        Emoji_Modifier_Base EBase Emoji_Presentation EPres Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext \
        Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo \
        Join_Control Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point NChar \
        Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI \
        Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper \
        Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS
        """.split(separator: " ").map { String($0) }

    @Test("Every general category of ECMA-262 can be run, alone and by the name of the property", arguments: categories)
    func category(name: String) throws {
        _ = try Pattern(#"\p{\#(name)}\P{\#(name)}\p{gc=\#(name)}\P{General_Category=\#(name)}"#)
    }

    @Test("Every binary property but Extended_Pictographic can be run", arguments: binaries)
    func binary(name: String) throws {
        _ = try Pattern(#"\p{\#(name)}[\P{\#(name)}]"#)
    }

    @Test(
        "A property and its negation divide all scalars between them", arguments: ["Lu", "Alphabetic", "ASCII", "RI"])
    func negation(name: String) throws {
        let property = try #require(UnicodeProperty(name: name, value: nil))
        let inside = ScalarClass(property.contents(negated: false))
        let outside = ScalarClass(property.contents(negated: true))
        for value in stride(from: UInt32(0), through: 0x2FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            #expect(inside.contains(scalar) != outside.contains(scalar))
        }
    }

    @Test("Ranges are put in order and joined where they touch")
    func joining() {
        #expect(ScalarSet([5...9, 1...2, 3...3, 7...12, 20...20]).ranges == [1...3, 5...12, 20...20])
        #expect(ScalarSet([4...8, 5...6]).ranges == [4...8])
        #expect(ScalarSet([]).ranges == [])
    }

    @Test(
        "Inverting twice changes nothing, and the edges of Unicode are kept",
        arguments: [
            ScalarSet([]), .all, .word, .space, ScalarSet([0...0]), ScalarSet([0x10FFFF...0x10FFFF]),
        ])
    func inverting(set: ScalarSet) {
        #expect(set.inverted.inverted == set)
        for value: UInt32 in [0, 1, 0x30, 0x5F, 0xD800, 0x10FFFE, 0x10FFFF] {
            #expect(set.contains(value) != set.inverted.contains(value))
        }
    }

    @Test("A set contains what its ranges contain")
    func containing() {
        let set = ScalarSet([2...4, 8...8, 10...19])
        let members = (UInt32(0)...25).filter { set.contains($0) }
        #expect(members == [2, 3, 4, 8] + Array(10...19))
    }
}
