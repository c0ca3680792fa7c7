import Foundation
import SettingsClient
import Testing

@Suite("The list of the adapter's members")
struct AdapterMembersTests {
    /// The sources are where members that do not exist at run time can be seen.
    private var members: Set<String> {
        get throws {
            let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../../Sources/SettingsClient").standardized
            let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
            var members: Set<String> = []
            for case let file as URL in files where file.pathExtension == "swift" {
                var isInside = false
                for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                    if line.first != " " {
                        isInside = try line.contains(Regex("(class|extension) DefaultsAdapter\\b"))
                    }
                    let member = try Regex("^    public (nonisolated\\(nonsending\\) )?(func|var|let) ([A-Za-z]+)")
                    if isInside, let match = line.firstMatch(of: member), let name = match.output[3].substring {
                        members.insert(String(name))
                    }
                }
            }
            return members
        }
    }

    @Test("It has every public member that a key could be hidden by, and no other")
    func list() throws {
        let members = try members
        #expect(members.contains("hasKey"), "the sources were read")
        #expect(members.sorted() == AdapterMembers.names)
    }

    @Test("Each of them hides a key indeed, and the path reaches it")
    func reality() {
        struct Keys: DefaultsKeyStore {
            var value: DefaultsKey<Int> { .init("value", defaultValue: 7) }
            var issues: DefaultsKey<Int> { .init("issues", defaultValue: 8) }
            var suites: DefaultsKey<Int> { .init("suites", defaultValue: 9) }
        }
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        #expect(type(of: defaults.issues) == AsyncStream<DefaultsIssue>.self)
        #expect(defaults[\.issues] == 8 && defaults[\.value] == 7 && defaults.suites == 9)
    }
}
