import Platform
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct OutboxDamageTests {
    private let harness: StoreHarness
    private var samples: SampleWrites { harness.samples }
    private var names: [String] { harness.names }

    init() throws {
        harness = try StoreHarness()
    }

    /// A file of three writes, with damage in the second, or in the last byte; its name.
    private func damagedFile(atEnd: Bool = false) throws -> String {
        var store: OutboxStore? = harness.store()
        for number in 1...3 { try store?.keep(samples.set(number), as: samples.set(number)) }
        #expect(harness.close(&store))
        let name = try #require(names.first)
        var bytes = try harness.bytes(name)
        let place =
            try atEnd
            ? bytes.count - 1
            : #require(bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.dropFirst(2).first) - 5
        bytes[place] ^= 1
        try harness.write(bytes, to: name)
        return name
    }

    /// Takes it over while nothing can be put aside.
    private func inherited(_ count: Int) throws -> OutboxStore {
        harness.files.fail { call, path in path.hasSuffix(".damaged") && call == .open ? 28 : nil }
        var store = harness.store()
        let found = store.inherit()
        #expect(found.writes.count == count && found.troubles.count == 1)
        #expect(found.troubles.first?.reason.contains("it stays there, as ") == true)
        return store
    }

    @Test("It stays there when all else is sent, and is put aside by the next who can")
    func stays() throws {
        let name = try damagedFile()
        var store: OutboxStore? = try inherited(2)
        for _ in 0..<2 { store?.endFirst() }
        #expect(names == [name])
        #expect(harness.close(&store))
        harness.files.repair()
        var next = harness.store()
        let found = next.inherit()
        #expect(found.writes == [] && found.troubles.count == 1, "what has ended is not sent again")
        let aside = try #require(names.first)
        #expect(names.count == 1 && aside.hasSuffix(".damaged"))
        #expect(try String(decoding: harness.bytes(aside), as: UTF8.self).contains("request 2"))
    }

    @Test("It is put aside when all else is sent, if that works by then")
    func laterAside() throws {
        _ = try damagedFile()
        var store = try inherited(2)
        harness.files.repair()
        #expect(harness.drain(&store).count == 2)
        let aside = try #require(names.first)
        #expect(names.count == 1 && aside.hasSuffix(".damaged"))
        #expect(try String(decoding: harness.bytes(aside), as: UTF8.self).contains("request 2"))
    }

    @Test("It stays there when the file is to be written anew")
    func rewriting() throws {
        let name = try damagedFile()
        var store = try inherited(2)
        let text = JSONValue.string(String(repeating: "x", count: 300_000))
        for number in 0..<8 {
            let write = try samples.write(.set(text), as: "large \(number)")
            try store.keep(write, as: write)
        }
        for _ in 0..<9 { store.endFirst() }
        #expect(try store.count == 1 && String(decoding: harness.bytes(name), as: UTF8.self).contains("request 2"))
        harness.files.repair()
        store.endFirst()
        #expect(names.count == 1 && names.first?.hasSuffix(".damaged") == true)
    }

    @Test("Where the end of the last line is damaged, nothing is added to it")
    func damagedEnd() throws {
        _ = try damagedFile(atEnd: true)
        var store: OutboxStore? = try inherited(3)
        try store?.keep(samples.set(4), as: samples.set(4))
        store?.endFirst()
        #expect(harness.close(&store))
        harness.files.repair()
        var next = harness.store()
        let found = next.inherit()
        let numbers = found.writes.compactMap { $0.requestKey.text.split(separator: " ").last }
        // That the first has ended could not be noted.
        #expect(numbers == ["1", "2", "3", "4"], "\(found)")
    }

    @Test("What has to be put into such a file is put there when the damage can be put aside")
    func otherForm() throws {
        _ = try damagedFile(atEnd: true)
        var store: OutboxStore? = try inherited(3)
        #expect(throws: FileError.self) { try store?.replaceFirst(by: samples.set(9)) }
        harness.files.repair()
        try store?.replaceFirst(by: samples.set(9))
        #expect(harness.close(&store))
        var next = harness.store()
        let found = next.inherit()
        #expect(try found.writes.first == samples.set(9) && found.writes.count == 3 && found.troubles == [])
        #expect(names.count { $0.hasSuffix(".damaged") } == 1)
    }
}
