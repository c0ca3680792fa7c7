/// A yes-or-no property of Unicode that both ECMA-262 and the standard library know, by a row of one table.
struct BinaryProperty: Hashable, Sendable {
    private let row: Int

    /// Takes the long or the short name, in exactly the letter case of ECMA-262.
    init?(named name: String) {
        guard let row = Self.table.firstIndex(where: { $0.name == name || $0.alias == name }) else { return nil }
        self.row = row
    }

    func holds(for scalar: Unicode.Scalar) -> Bool {
        Self.table[row].test(scalar.properties)
    }

    private struct Row: Sendable {
        let name: String
        let alias: String
        let test: @Sendable (Unicode.Scalar.Properties) -> Bool

        init(_ name: String, _ alias: String, _ test: @escaping @Sendable (Unicode.Scalar.Properties) -> Bool) {
            self.name = name
            self.alias = alias
            self.test = test
        }
    }

    private static let table: [Row] = [
        Row("ASCII_Hex_Digit", "AHex") { $0.isASCIIHexDigit },
        Row("Alphabetic", "Alpha") { $0.isAlphabetic },
        Row("Bidi_Control", "Bidi_C") { $0.isBidiControl },
        Row("Bidi_Mirrored", "Bidi_M") { $0.isBidiMirrored },
        Row("Case_Ignorable", "CI") { $0.isCaseIgnorable },
        Row("Cased", "Cased") { $0.isCased },
        Row("Changes_When_Casefolded", "CWCF") { $0.changesWhenCaseFolded },
        Row("Changes_When_Casemapped", "CWCM") { $0.changesWhenCaseMapped },
        Row("Changes_When_Lowercased", "CWL") { $0.changesWhenLowercased },
        Row("Changes_When_NFKC_Casefolded", "CWKCF") { $0.changesWhenNFKCCaseFolded },
        Row("Changes_When_Titlecased", "CWT") { $0.changesWhenTitlecased },
        Row("Changes_When_Uppercased", "CWU") { $0.changesWhenUppercased },
        Row("Dash", "Dash") { $0.isDash },
        Row("Default_Ignorable_Code_Point", "DI") { $0.isDefaultIgnorableCodePoint },
        Row("Deprecated", "Dep") { $0.isDeprecated },
        Row("Diacritic", "Dia") { $0.isDiacritic },
        Row("Emoji", "Emoji") { $0.isEmoji },
        Row("Emoji_Modifier", "EMod") { $0.isEmojiModifier },
        Row("Emoji_Modifier_Base", "EBase") { $0.isEmojiModifierBase },
        Row("Emoji_Presentation", "EPres") { $0.isEmojiPresentation },
        Row("Extender", "Ext") { $0.isExtender },
        Row("Grapheme_Base", "Gr_Base") { $0.isGraphemeBase },
        Row("Grapheme_Extend", "Gr_Ext") { $0.isGraphemeExtend },
        Row("Hex_Digit", "Hex") { $0.isHexDigit },
        Row("IDS_Binary_Operator", "IDSB") { $0.isIDSBinaryOperator },
        Row("IDS_Trinary_Operator", "IDST") { $0.isIDSTrinaryOperator },
        Row("ID_Continue", "IDC") { $0.isIDContinue },
        Row("ID_Start", "IDS") { $0.isIDStart },
        Row("Ideographic", "Ideo") { $0.isIdeographic },
        Row("Join_Control", "Join_C") { $0.isJoinControl },
        Row("Logical_Order_Exception", "LOE") { $0.isLogicalOrderException },
        Row("Lowercase", "Lower") { $0.isLowercase },
        Row("Math", "Math") { $0.isMath },
        Row("Noncharacter_Code_Point", "NChar") { $0.isNoncharacterCodePoint },
        Row("Pattern_Syntax", "Pat_Syn") { $0.isPatternSyntax },
        Row("Pattern_White_Space", "Pat_WS") { $0.isPatternWhitespace },
        Row("Quotation_Mark", "QMark") { $0.isQuotationMark },
        Row("Radical", "Radical") { $0.isRadical },
        Row("Sentence_Terminal", "STerm") { $0.isSentenceTerminal },
        Row("Soft_Dotted", "SD") { $0.isSoftDotted },
        Row("Terminal_Punctuation", "Term") { $0.isTerminalPunctuation },
        Row("Unified_Ideograph", "UIdeo") { $0.isUnifiedIdeograph },
        Row("Uppercase", "Upper") { $0.isUppercase },
        Row("Variation_Selector", "VS") { $0.isVariationSelector },
        Row("White_Space", "space") { $0.isWhitespace },
        Row("XID_Continue", "XIDC") { $0.isXIDContinue },
        Row("XID_Start", "XIDS") { $0.isXIDStart },
    ]
}
