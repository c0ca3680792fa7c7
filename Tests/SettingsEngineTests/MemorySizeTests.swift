import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

/// `memorySize` estimates the memory of a commit. `replacedBytes` estimates the memory of the values and schemas that
/// the commit replaced.
@Suite(.ownThread)
struct MemorySizeTests {
    private static let short = "fifteen bytes.."
    private static let long = String(repeating: "x", count: 1_000)

    private static func commit(
        changing keys: [String] = ["k"], from old: JSONValue? = nil, to new: JSONValue? = 1, by: String? = nil
    ) throws -> Commit {
        let revision = try #require(Revision(1))
        let time = Timestamp(milliseconds: 0)
        let suite = try SuiteName("app")
        return Commit(
            revision: revision, time: time,
            changes: try keys.map { key in
                Change(
                    suite: suite, key: try KeyName(key), old: old, new: new, oldSource: .unset, source: .stored,
                    revision: revision, modified: time)
            },
            by: CommitOrigin(by: by, note: nil))
    }

    @Test("A text of up to 15 bytes takes no heap memory, and a longer text takes the memory of its allocation")
    func texts() throws {
        let plain = try Self.commit().memorySize
        #expect(try Self.commit(changing: [Self.short], to: .string(Self.short)).memorySize == plain)
        // Each of these commits has an additional text of 250 or 1,000 bytes.
        for longer in [
            try Self.commit(changing: [String(repeating: "k", count: 250)]), try Self.commit(by: Self.long),
            try Self.commit(from: .string(Self.long)), try Self.commit(to: [.string(Self.long)]),
            try Self.commit(to: .object(try #require(JSONObject([.init(name: Self.long, value: 1)])))),
        ] {
            #expect(longer.memorySize > plain + 250)
            #expect(longer.memorySize < plain + 1_300)
        }
    }

    @Test("The memory of a change is its inline size and the text of its key")
    func changes() throws {
        let keys = (0..<1_000).map { "player.volume.\(100_000 + $0)" }
        let bytesPerChange = try (Self.commit(changing: keys).memorySize - Self.commit(changing: []).memorySize) / 1_000
        // The text of a key has 20 bytes. Its allocation has a header of 32 bytes and some padding.
        #expect(bytesPerChange >= MemoryLayout<Change>.stride + 32 + 20)
        #expect(bytesPerChange <= MemoryLayout<Change>.stride + 32 + 20 + 64)
    }

    @Test("The memory of a schema change is the memory of its documents")
    func schemas() throws {
        let revision = try #require(Revision(1))
        let document: JSONValue = ["title": .string(Self.long)]
        let set = SuiteChange(suite: try SuiteName("app"), kind: .schemaSet(revision: revision, document: document))
        var removed = SuiteChange(suite: try SuiteName("app"), kind: .schemaRemoved)
        let plain = Commit(revision: revision, time: Timestamp(milliseconds: 0), suiteChanges: [removed]).memorySize
        removed.replaced = .init(document: document, revision: revision)
        for change in [set, removed] {
            let memorySize = Commit(revision: revision, time: Timestamp(milliseconds: 0), suiteChanges: [change])
                .memorySize
            #expect((plain + 1_000...plain + 1_300).contains(memorySize))
        }
    }

    @Test("The replaced memory of a commit is the memory of the values and schemas that the commit replaced")
    func replaced() throws {
        #expect(try Self.commit(from: .string(Self.long), to: 1).replacedBytes > 1_000)
        #expect(try Self.commit(from: nil, to: .string(Self.long)).replacedBytes == 0)
        var removed = SuiteChange(suite: try SuiteName("app"), kind: .schemaRemoved)
        removed.replaced = .init(
            document: ["title": .string(Self.long)], revision: try #require(Revision(1)))
        let commit = Commit(
            revision: try #require(Revision(2)), time: Timestamp(milliseconds: 0), suiteChanges: [removed])
        #expect(commit.replacedBytes > 1_000)
    }
}
