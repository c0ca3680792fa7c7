import SettingsModel

/// The error that parsing these bytes gives; nil if they are a document.
func parseFailure(of bytes: [UInt8]) -> JSONParseError? {
    do throws(JSONParseError) {
        _ = try JSONValue(parsing: bytes)
        return nil
    } catch {
        return error
    }
}

/// The error that parsing this text gives; nil if it is a document.
func parseFailure(of text: String) -> JSONParseError? {
    do throws(JSONParseError) {
        _ = try JSONValue(parsing: text)
        return nil
    } catch {
        return error
    }
}
