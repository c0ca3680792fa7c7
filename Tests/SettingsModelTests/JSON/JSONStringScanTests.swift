import SettingsModel
import Testing

@Suite("Strings are scanned eight bytes at a time")
struct JSONStringScanTests {
    @Test("A control character, an escape and the end are seen wherever in a string they stand")
    func everyPlace() throws {
        for length in 0..<40 {
            for place in 0...length {
                // Bytes next to those that end the scan, in value and in place, raise false alarms.
                let before = String(repeating: "!\u{7F}]#", count: 10).prefix(place)
                let after = String(repeating: "[ é~", count: 10).prefix(length - place)
                #expect(try JSONValue(parsing: "\"\(before)\(after)\"").string == "\(before)\(after)")
                #expect(try JSONValue(parsing: "\"\(before)\\n\(after)\"").string == "\(before)\n\(after)")
                #expect(throws: JSONParseError.self) { try JSONValue(parsing: "\"\(before)\u{1F}\(after)\"") }
                #expect(throws: JSONParseError.self) { try JSONValue(parsing: "\"\(before)\"\(after)x\"") }
            }
        }
    }

    @Test(
        "A name is found twice however it was written",
        arguments: [
            #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"\u0061":1,"b":0,"a":2}"#,
            #"{"\u0061":1,"\u0061":2}"#, #"{"b":0,"a/":1,"c":0,"a\/":2}"#, #"{"":1,"":2}"#,
        ])
    func duplicates(text: String) {
        let error = #expect(throws: JSONParseError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason.hasSuffix("stands twice in this object") == true)
    }
}
