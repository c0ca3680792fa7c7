import SettingsModel

/// The error of parsing the bytes; nil if they are valid.
func parseFailure(of bytes: [UInt8]) -> JSONParseError? {
    do throws(JSONParseError) {
        _ = try JSONValue(parsing: bytes)
        return nil
    } catch {
        return error
    }
}

/// The error of parsing the text; nil if it is valid.
func parseFailure(of text: String) -> JSONParseError? {
    do throws(JSONParseError) {
        _ = try JSONValue(parsing: text)
        return nil
    } catch {
        return error
    }
}
