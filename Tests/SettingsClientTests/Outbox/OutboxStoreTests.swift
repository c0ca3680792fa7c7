import Foundation
import Platform
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// An `OutboxStore` is the queue of the writes that the daemon has not answered, in memory and in a file. Each
/// `harness.store()` is the store of another program, which ends with `harness.close`. `adoptAbandonedWrites` moves the
/// writes of ended programs to the store. `samples.set(N)` is a write with the request key `request N`.
@Suite(.ownThread)
struct OutboxStoreTests {
    private let harness: StoreHarness
    private var samples: SampleWrites { harness.samples }
    private var files: FaultyFiles { harness.files }
    private var path: String { harness.path }
    private var names: [String] { harness.names }

    init() throws {
        harness = try StoreHarness()
    }

    @Test("The writes of a queue are removed in order and leave no file")
    func order() throws {
        var store = harness.store()
        #expect(store.adoptAbandonedWrites().writes.isEmpty)
        #expect(
            names == [] && !FileManager.default.fileExists(atPath: path),
            "the store creates no file and no directory before the first write")
        let writes = try samples.all()
        for write in writes { try store.add(write) }
        #expect(store.count == writes.count && names.count == 1)
        #expect(harness.drain(&store) == writes)
        #expect(store.count == 0 && names == [])
        try store.add(writes[0])
        try store.replaceFirst(by: writes[1])
        #expect(store.first?.original == writes[0] && store.first?.change == writes[1])
    }

    @Test("The replacement of a conflicting write is on the disk when `replaceFirst` returns without an error")
    func replacement() throws {
        var store = harness.store()
        try store.add(samples.set(1))
        try store.replaceFirst(by: samples.set(2))
        #expect(
            files.log.all.suffix(3) == ["write", "syncData", "syncDirectory"],
            "each outbox file is created as a draft, and the rename of the draft is synced, too")
        try store.replaceFirst(by: samples.set(3))
        #expect(files.log.all.suffix(2) == ["write", "syncData"], "the rename is already synced")
        files.fail(.syncData)
        #expect(throws: FileError.self) { try store.replaceFirst(by: samples.set(4)) }
        files.fail(.write)
        #expect(throws: FileError.self) { try store.add(samples.set(5)) }
        // After the failed write, the store replaces its file by a new file, whose rename is not yet synced.
        files.fail(.syncDirectory)
        #expect(throws: FileError.self, "a crash could restore the file that the store has replaced") {
            try store.replaceFirst(by: samples.set(4))
        }
        #expect(try store.first?.change == samples.set(3))
    }

    @Test("Only the owner can read the outbox file")
    func permissions() throws {
        var store = harness.store()
        try store.add(samples.set(1))
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode("\(path)/\(#require(names.first))") == 0o600)
        // The store has created all directories below `home`, from `state` to `path`.
        #expect(try mode(path) == 0o700 && mode(harness.home + "/state") == 0o700)
    }

    @Test("A queue at one of its limits is full until a write is removed")
    func limits() throws {
        var twoWrites = harness.store(OutboxStore.Limits(writes: 2))
        for number in 1...2 {
            #expect(twoWrites.fillLevel.fullQueueMessage == nil)
            try twoWrites.add(samples.set(number))
        }
        #expect(twoWrites.fillLevel.fullQueueMessage?.contains("2 writes (") == true)
        twoWrites.removeFirst()
        #expect(twoWrites.fillLevel.fullQueueMessage == nil)
        var thousandBytes = harness.store(OutboxStore.Limits(size: 1000))
        try thousandBytes.add(samples.write(.set(.string(String(repeating: "x", count: 1000)))))
        #expect(thousandBytes.fillLevel.fullQueueMessage != nil)
    }

    @Test
    func `Writes that are appended out of order are returned in the order of their numbers`() throws {
        var store: OutboxStore? = harness.store()
        for number in [2, 1, 4, 3] { try store?.append(samples.set(number), number: Int64(number)) }
        #expect(harness.close(&store))
        var next = harness.store()
        let adopted = next.adoptAbandonedWrites().writes
        let expected = try (1...4).map(samples.set)
        #expect(adopted == expected && harness.drain(&next) == expected)
    }

    @Test("A queue without a directory keeps its writes in memory and creates no files")
    func memoryOnly() throws {
        var store = OutboxStore(in: nil, of: samples.owner, files: files)
        let writes = try samples.all()
        for write in writes { try store.add(write) }
        #expect(store.adoptAbandonedWrites() == OutboxStore.AbandonedWrites())
        #expect(!store.isPersistent && harness.drain(&store) == writes)
        #expect(files.log.all.isEmpty)
    }

    @Test("An outbox file that is never empty does not grow without limit")
    func compaction() throws {
        var store: OutboxStore? = harness.store()
        // The writes have 10 MB in total. The store rewrites a file of more than 1 MiB.
        let text = JSONValue.string(String(repeating: "x", count: 100_000))
        try store?.add(samples.set(0))
        for number in 1...100 {
            let write = try samples.write(.set(text), as: "request \(number)")
            try store?.add(write)
            store?.removeFirst()
            let size = try #require(names.first.map { try harness.bytes($0).count })
            #expect(names.count == 1 && size < 1_500_000)
        }
        try store?.add(samples.set(1))
        #expect(harness.close(&store))
        var next = harness.store()
        let writes = next.adoptAbandonedWrites().writes
        #expect(try writes == [samples.write(.set(text), as: "request 100"), samples.set(1)])
    }

    @Test("The time per write does not grow with the number of writes")
    func many() throws {
        var store = harness.store()
        // Creates a file with 5,000 writes that an ended program could have left.
        let write = try samples.set(1)
        try store.add(write)
        let name = try #require(names.first)
        var bytes = try harness.bytes(name)
        for number in 2...5_000 { bytes += OutboxLine.write(Int64(number), write).bytes }
        try harness.write(bytes, to: "0000000009-x.outbox")
        var next = harness.store()
        expectLinearTime {
            #expect(next.adoptAbandonedWrites().writes.count == 5_000)
            for _ in 0..<5_000 { next.removeFirst() }
            #expect(next.count == 0)
        }
        #expect(names == [name], "the first store still has its own file")
        #expect(throws: Never.self) { try next.add(write) }
    }
}
