internal import SettingsModel

/// How values without a declared type are read as one.
///
/// | | `.int` | `.double` | `.bool` | `.string` |
/// |---|---|---|---|---|
/// | integer | itself | nearest | whether not 0 | its digits |
/// | double | towards zero; nil beyond Int | itself | whether not 0 | its shortest digits |
/// | boolean | 1 or 0 | 1.0 or 0.0 | itself | `1` or `0` |
/// | string | of all its digits | of all its digits | `true` `t` `yes` `y` `1`, `false` `f` `no` `n` `0` | itself |
///
/// Anything else is nil.
enum UntypedConversion {
    static func int(_ value: JSONValue) -> Int? {
        switch value {
        case .integer(let integer): Int(exactly: integer)
        case .double(let double): Int(exactly: double.rounded(.towardZero))
        case .bool(let truth): truth ? 1 : 0
        case .string(let text): Int(text) ?? Double(text).flatMap { Int(exactly: $0.rounded(.towardZero)) }
        default: nil
        }
    }

    static func double(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let integer): Double(integer)
        case .double(let double): double
        case .bool(let truth): truth ? 1 : 0
        case .string(let text): Double(text)
        default: nil
        }
    }

    static func bool(_ value: JSONValue) -> Bool? {
        switch value {
        case .integer(let integer): integer != 0
        case .double(let double): double != 0
        case .bool(let truth): truth
        case .string(let text): truth(of: text)
        default: nil
        }
    }

    static func string(_ value: JSONValue) -> String? {
        switch value {
        case .integer(let integer): String(integer)
        case .double(let double):
            double == double.rounded() && abs(double) < 0x1p53 ? String(Int64(double)) : "\(double)"
        case .bool(let truth): truth ? "1" : "0"
        case .string(let text): text
        default: nil
        }
    }

    /// The words for true and false, in any case.
    static func truth(of text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "t", "yes", "y", "1": true
        case "false", "f", "no", "n", "0": false
        default: nil
        }
    }
}
