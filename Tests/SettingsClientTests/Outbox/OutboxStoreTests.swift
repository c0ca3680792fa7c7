import Foundation
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite("The store of kept writes")
struct OutboxStoreTests {
    private let samples: SampleWrites
    private let directory: TemporaryDirectory
    private let files = FaultyFiles()
    /// Several levels down: none of it is there yet.
    private var path: String { directory.path + "/state/outbox/server/app" }

    init() throws {
        samples = try SampleWrites()
        directory = try TemporaryDirectory()
    }

    private func store(_ limits: OutboxStore.Limits = .init(), owner: OutboxOwner? = nil) -> OutboxStore {
        OutboxStore(OutboxFolder(path: path, owner: owner ?? samples.owner, files: files), limits: limits)
    }

    private func inherit(_ store: inout OutboxStore?) throws -> OutboxStore.Inheritance {
        let found = store?.inherit()
        return try #require(found)
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
    }

    private func write(_ bytes: [UInt8], to name: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    }

    /// What comes out from the front, to the end.
    private func drain(_ store: inout OutboxStore) -> [SuiteWrite] {
        var writes: [SuiteWrite] = []
        while let first = store.first {
            writes.append(first.form)
            store.endFirst()
        }
        return writes
    }

    @Test("What was kept comes out in order, and then nothing is left on disk")
    func order() throws {
        var store = store()
        #expect(store.inherit().writes.isEmpty)
        #expect(names == [] && !FileManager.default.fileExists(atPath: path), "nothing is made before it is needed")
        let writes = try samples.all()
        for write in writes { try store.keep(write, as: write) }
        #expect(store.count == writes.count && names.count == 1)
        #expect(drain(&store) == writes)
        #expect(store.isEmpty && names == [])
        try store.keep(writes[0], as: writes[1])
        #expect(store.first?.original == writes[0] && store.first?.form == writes[1])
    }

    @Test("Only the owner may see it")
    func permissions() throws {
        var store = store()
        try store.keep(samples.set(1), as: samples.set(1))
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode("\(path)/\(#require(names.first))") == 0o600)
        #expect(try mode(path) == 0o700 && mode(directory.path + "/state") == 0o700)
    }

    @Test("What a program leaves behind is taken over by the next, once, before its own")
    func inheritance() throws {
        let writes = try (1...5).map(samples.set)
        var first: OutboxStore? = store()
        try first?.keep(writes[0], as: writes[0])
        try first?.keep(writes[1], as: writes[1])
        try first?.keep(writes[2], as: writes[2])
        first?.endFirst()
        var second = store()
        #expect(second.inherit() == OutboxStore.Inheritance(hasOthers: true), "as long as somebody has it")
        first = nil
        var third = store()
        #expect(third.inherit().writes == Array(writes[1...2]))
        #expect(third.inherit() == OutboxStore.Inheritance())
        var fourth = store()
        #expect(fourth.inherit().writes == [])
        try third.keep(writes[3], as: writes[3])
        #expect(names.count == 1, "it goes on in the file that it has")
        third.endFirst()
        #expect(drain(&third) == Array(writes[2...3]))
        #expect(names == [])
    }

    @Test("Of several programs the writes come in the order in which their files were begun")
    func severalPrograms() throws {
        let writes = try (1...9).map(samples.set)
        var programs: [OutboxStore] = []
        for write in writes {
            var program = store()
            try program.keep(write, as: write)
            programs.append(program)
        }
        #expect(names.count == 9)
        programs = []
        var next = store()
        #expect(next.inherit().writes == writes)
        #expect(drain(&next) == writes && names == [])
    }

    @Test("A write that took another form is inherited in that")
    func otherForms() throws {
        let (write, other) = (try samples.set(1), try samples.set(2))
        var first: OutboxStore? = store()
        try first?.keep(write, as: write)
        try first?.replaceFirst(by: other)
        #expect(first?.first?.original == write && first?.first?.form == other)
        first = nil
        var next = store()
        #expect(next.inherit().writes == [other])
    }

    @Test("What a crash left unfinished is not there, and what comes after is", arguments: [1, 10, 60])
    func tornEnd(_ cut: Int) throws {
        let writes = try (1...3).map(samples.set)
        var first: OutboxStore? = store()
        try first?.keep(writes[0], as: writes[0])
        try first?.keep(writes[1], as: writes[1])
        first = nil
        let name = try #require(names.first)
        try write(bytes(name) + OutboxLine.write(3, writes[2]).bytes.dropLast(cut + 1), to: name)
        var next: OutboxStore? = store()
        let found = try inherit(&next)
        #expect(found.writes == Array(writes[0...1]) && found.troubles == [])
        try next?.keep(writes[2], as: writes[2])
        next = nil
        var last = store()
        #expect(last.inherit().writes == writes)
    }

    @Test("A damaged line is put aside and told; the others are sent")
    func damage() throws {
        let writes = try (1...3).map(samples.set)
        var first: OutboxStore? = store()
        for write in writes { try first?.keep(write, as: write) }
        first = nil
        let name = try #require(names.first)
        var bytes = try bytes(name)
        let place = try #require(bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.dropFirst(2).first) - 5
        bytes[place] ^= 1
        try write(bytes, to: name)
        files.fail(.write)
        var failing: OutboxStore? = store()
        let unable = try inherit(&failing)
        #expect(unable.writes == [writes[0], writes[2]])
        #expect(unable.troubles.count == 1 && unable.troubles.first?.reason.contains("No space left") == true)
        failing = nil
        #expect(try self.bytes(name) == bytes, "it is there for the next")
        files.repair()
        var next: OutboxStore? = store()
        let found = try inherit(&next)
        #expect(found.writes == [writes[0], writes[2]])
        let aside = try #require(names.first { $0.hasSuffix(".damaged") })
        #expect(found.troubles.map(\.path) == ["\(path)/\(name)"])
        #expect(
            found.troubles.map(\.reason)
                == ["a line is damaged, and will not be sent; what is left of it is in \(path)/\(aside)"])
        #expect(try String(decoding: self.bytes(aside), as: UTF8.self).contains("request 2"))
        next = nil
        var last = store()
        #expect(last.inherit().troubles == [])
        #expect(drain(&last) == [writes[0], writes[2]])
        #expect(names == [aside])
    }

    @Test("A file of a later version stays as it is, and says so")
    func future() throws {
        let later = CheckedLine.line(of: Array(#"{"outbox":2,"anything":"else"}"#.utf8))
        try write(later, to: "0000000007-x.outbox")
        var store = store()
        let found = store.inherit()
        #expect(found.writes == [])
        #expect(found.troubles.map(\.path) == ["\(path)/0000000007-x.outbox"])
        #expect(
            found.troubles.map(\.reason) == ["written by a later version of this program (form 2), and left as it is"])
        try store.keep(samples.set(1), as: samples.set(1))
        #expect(try names.count == 2 && bytes("0000000007-x.outbox") == later)
    }

    @Test("Files of another server, and what is none of ours, are left alone; an unfinished one goes")
    func others() throws {
        let other = OutboxOwner(server: "http://other", suite: samples.suite)
        var foreign: OutboxStore? = self.store(owner: other)
        try foreign?.keep(samples.set(1), as: samples.set(1))
        foreign = nil
        try write([1, 2, 3], to: "notes.txt")
        try write([1, 2, 3], to: "0000000009-x.outbox.new")
        try write([], to: "0000000009-y.outbox")
        var store = store()
        let found = store.inherit()
        #expect(found.writes == [] && found.troubles == [])
        #expect(names.count == 2 && names.contains("notes.txt"))
        #expect(throws: Never.self) { try store.keep(samples.set(1), as: samples.set(1)) }
    }

    @Test("What cannot be read is told", arguments: [FaultyFiles.Call.list, .open, .lock, .read])
    func unreadable(_ call: FaultyFiles.Call) throws {
        var first: OutboxStore? = store()
        try first?.keep(samples.set(1), as: samples.set(1))
        first = nil
        files.fail(call, code: 5)
        var failing: OutboxStore? = store()
        let found = try inherit(&failing)
        #expect(found.writes == [] && found.troubles.map(\.reason) == ["Input/output error"])
        files.repair()
        failing = nil
        var next = store()
        #expect(try next.inherit().writes == [samples.set(1)])
    }

    @Test("A directory where nobody may look is as one that is not there", arguments: [13, 20, 2])
    func outOfReach(_ code: Int32) {
        files.fail(.list, code: code)
        var store = store()
        #expect(store.inherit() == OutboxStore.Inheritance())
    }

    @Test(
        "A write that cannot be put on disk is not kept, now or later",
        arguments: [FaultyFiles.Call.makeDirectory, .open, .lock, .write, .syncData, .rename, .syncDirectory])
    func fullDisk(_ call: FaultyFiles.Call) throws {
        for hasFile in [false, true] {
            var store: OutboxStore? = self.store()
            if hasFile { try store?.keep(samples.set(0), as: samples.set(0)) }
            files.fail(call)
            let isNeeded = !hasFile || call == .write || call == .syncData
            if isNeeded {
                let refusal = #expect(throws: OutboxStore.Refusal.self) {
                    try store?.keep(samples.set(1), as: samples.set(1))
                }
                #expect(refusal?.description.hasSuffix("No space left on device") == true)
            }
            files.repair()
            #expect(store?.count == (hasFile ? 1 : 0))
            // What comes after is kept as ever.
            try store?.keep(samples.set(2), as: samples.set(2))
            store = nil
            var next = self.store()
            #expect(try next.inherit().writes == (hasFile ? [samples.set(0)] : []) + [samples.set(2)])
            #expect(drain(&next).count == (hasFile ? 2 : 1))
            #expect(names == [])
        }
    }

    @Test("Even if a half-written line cannot be cut off, it is not sent, and nothing is added behind it")
    func uncutLine() throws {
        var store: OutboxStore? = self.store()
        try store?.keep(samples.set(0), as: samples.set(0))
        files.fail(.write, .truncate)
        #expect(throws: OutboxStore.Refusal.self) { try store?.keep(samples.set(1), as: samples.set(1)) }
        files.repair()
        try store?.keep(samples.set(2), as: samples.set(2))
        #expect(names.count == 2, "a file of its own")
        store = nil
        var next = self.store()
        let found = next.inherit()
        #expect(try found.writes == [samples.set(0), samples.set(2)])
        #expect(found.troubles == [])
    }

    @Test("No more is kept than may be")
    func limits() throws {
        var few = store(OutboxStore.Limits(writes: 2))
        for number in 1...2 { try few.keep(samples.set(number), as: samples.set(number)) }
        let refusal = #expect(throws: OutboxStore.Refusal.self) { try few.keep(samples.set(3), as: samples.set(3)) }
        #expect(refusal?.description.hasPrefix("2 writes of ") == true)
        few.endFirst()
        try few.keep(samples.set(3), as: samples.set(3))
        var small = store(OutboxStore.Limits(size: 1000))
        let large = try samples.write(.set(.string(String(repeating: "x", count: 1000))))
        try small.keep(large, as: large)
        #expect(throws: OutboxStore.Refusal.self) { try small.keep(samples.set(1), as: samples.set(1)) }
    }

    @Test("A file that never gets empty does not grow for ever")
    func compaction() throws {
        var store: OutboxStore? = store()
        let text = JSONValue.string(String(repeating: "x", count: 100_000))
        try store?.keep(samples.set(0), as: samples.set(0))
        for number in 1...100 {
            let write = try samples.write(.set(text), as: "request \(number)")
            try store?.keep(write, as: write)
            store?.endFirst()
            let size = try #require(names.first.map { try bytes($0).count })
            #expect(names.count == 1 && size < 1_500_000)
        }
        try store?.keep(samples.set(1), as: samples.set(1))
        store = nil
        var next = self.store()
        let writes = next.inherit().writes
        #expect(try writes == [samples.write(.set(text), as: "request 100"), samples.set(1)])
    }

    @Test("Thousands of writes take no longer each than a few")
    func many() throws {
        var store = store()
        // Without waiting for the disk each time.
        let write = try samples.set(1)
        try store.keep(write, as: write)
        let name = try #require(names.first)
        var bytes = try self.bytes(name)
        for number in 2...5_000 { bytes += OutboxLine.write(Int64(number), write).bytes }
        try self.write(bytes, to: "0000000009-x.outbox")
        var next = self.store()
        expectLinearTime {
            #expect(next.inherit().writes.count == 5_000)
            for _ in 0..<5_000 { next.endFirst() }
            #expect(next.isEmpty)
        }
        #expect(names == [name])
        #expect(throws: Never.self) { try next.keep(write, as: write) }
    }
}
