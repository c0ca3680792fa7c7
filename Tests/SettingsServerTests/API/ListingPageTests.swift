import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine
@testable import SettingsWeb

@Suite(.ownThread)
struct ListingPageTests {
    @Test("A listing of keys with long schemas is split into pages that together contain each key once")
    func pages() throws {
        let words = (0..<1000).map { JSONValue.string("word number \($0)" + String(repeating: " ", count: 800)) }
        let schema = try Schema(["additionalProperties": ["enum": .array(words)]])
        // The revisions have no effect on the pages.
        var suite = Suite(try SuiteName("app"), revision: .zero, unknownKeyRevision: .zero)
        suite.setSchema(SchemaVersion(schema, revision: .zero), revision: .zero)
        let names = try (0..<300).map { try KeyName("key\(1000 + $0)") }
        for name in names {
            suite.put(
                KeyRecord(
                    key: name, stored: words[1], valueSource: .stored, revision: .zero,
                    modified: Timestamp(milliseconds: 1)))
        }
        var found: [KeyName] = []
        var after: String?
        repeat {
            // A listing reads one key more than the limit, so the limit must be less than `Int.max`.
            let page = suite.listing(prefix: "", after: after, limit: .max - 1)
            // A page ends at about 64 MB, and the schema of each key has more than 0.8 MB.
            #expect(page.keys.count < 250)
            found += page.keys.map(\.setting.key)
            after = page.next?.text
        } while after != nil
        #expect(found == names)
    }
}
