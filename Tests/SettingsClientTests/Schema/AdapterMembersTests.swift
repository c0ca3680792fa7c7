import Foundation
import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

/// The list of the members that hide keys: `defaults.value` is a method even if the store has a key `value`. A program
/// then uses the key with `defaults[\.value]`.
@Suite(.ownThread)
struct AdapterMembersTests {
    /// The names of the public members in the source files. Reflection does not list methods and computed properties.
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
                        isInside = try line.contains(
                            Regex("(class|protocol|struct|extension) (DefaultsAdapter|DefaultsScope|KeyedAccess)\\b"))
                        // The compiler does not prefer a member with this constraint to a key of the same name. It
                        // chooses between the member and the key by the type that the expression needs.
                        if line.contains("where KeyStore: DefaultsKeyStore") { isInside = false }
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

    @Test("AdapterMembers lists exactly the public members that can hide a key")
    func list() throws {
        let members = try members
        #expect(members.contains("hasKey"), "the source files were found")
        #expect(members.sorted() == AdapterMembers.names)
    }

    @Test(
        "A key needs a key path if its name is the name of a listed member, but not if it is the name of another member"
    )
    func access() async throws {
        struct Keys: DefaultsKeyStore {
            var value: DefaultsKey<Int> { .init("value", defaultValue: 7) }
            var issues: DefaultsKey<Int> { .init("issues", defaultValue: 8) }
            var removeAll: DefaultsKey<Bool> { .init("removeAll", defaultValue: false) }
            var transaction: DefaultsKey<[Int]> { .init("transaction", defaultValue: []) }
        }
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        defaults.issues += 1
        defaults.removeAll = true
        defaults.transaction.append(1)
        defaults[\.value] += 1
        #expect(defaults.issues == 9 && defaults.removeAll && defaults.transaction == [1] && defaults[\.value] == 8)
        #expect(try await defaults.value(\.value) == 8)
        // With this type, `issues` is the member of the adapter.
        let stream: AsyncStream<DefaultsIssue> = defaults.issues
        _ = stream
        try await defaults.transaction { $0.transaction.append(2) }
        #expect(defaults.transaction == [1, 2])
        defaults.removeAll()
        #expect(!defaults.removeAll && defaults[\.value] == 7)
    }

    @Test("Adapter members hide fewer than ten names")
    func count() {
        #expect(AdapterMembers.names.count < 10)
    }
}
