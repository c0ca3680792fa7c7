import SettingsModel
import Testing

@Suite("A renamed key takes its value over")
struct RenameMigrationTests {
    private let migration: RenameMigration

    init() throws {
        migration = try #require(try RenameMigration(of: SampleKeys().libraries))
    }

    @Test(
        "The latest former name with a value is the source, unless the new one has one",
        arguments: [
            ([], nil), (["paths"], "paths"), (["folders"], "folders"), (["paths", "folders"], "folders"),
            (["libraries", "folders"], nil), (["other"], nil),
        ] as [(Set<String>, String?)])
    func source(stored: Set<String>, expected: String?) {
        #expect(migration.source { stored.contains($0.text) }?.text == expected)
    }

    @Test("The transaction moves the value, if neither name has changed")
    func transaction() throws {
        let transaction = migration.transaction(
            in: try SuiteName("app"), from: try KeyName("folders"), value: ["a"],
            while: [.stored(true), .revision(try #require(Revision(7)))])
        var writer = JSONWriter()
        transaction.write(to: &writer)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(
            text == #"{"if":[{"suite":"app","key":"libraries","stored":false},"#
                + #"{"suite":"app","key":"folders","stored":true},"#
                + #"{"suite":"app","key":"folders","revision":7}],"#
                + #""do":[{"op":"set","suite":"app","key":"libraries","value":["a"]},"#
                + #"{"op":"delete","suite":"app","key":"folders"}]}"#)
    }

    @Test("A key that never had another name asks for nothing, one that had an impossible name is refused")
    func others() throws {
        #expect(try RenameMigration(of: SampleKeys().volume) == nil)
        #expect(throws: NameError.self) { _ = try RenameMigration(of: DefaultsKey<Int?>("a", renamedFrom: [".."])) }
    }
}
