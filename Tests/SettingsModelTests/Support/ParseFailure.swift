import SettingsModel

/// Returns the error of parsing the bytes; nil if the bytes are valid JSON.
func parseFailure(of bytes: [UInt8]) -> JSONParseError? {
    do throws(JSONParseError) {
        _ = try JSONValue(parsing: bytes)
        return nil
    } catch {
        return error
    }
}

/// Returns the error of parsing the text; nil if the text is valid JSON.
func parseFailure(of text: String) -> JSONParseError? {
    do throws(JSONParseError) {
        _ = try JSONValue(parsing: text)
        return nil
    } catch {
        return error
    }
}
