import Glibc
import Platform
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Outbox files that are damaged, cannot be read or cannot be written. The name of an outbox file is a number and a
/// random text, such as `0000000007-x.outbox`. Each `harness.store()` is the outbox of another program, which ends with
/// `harness.close`. `adoptAbandonedWrites` moves the writes of ended programs to the store. `samples.set(N)` is a write
/// with the request key `request N`.
@Suite(.ownThread)
struct OutboxFaultTests {
    private let harness: StoreHarness
    private var samples: SampleWrites { harness.samples }
    private var files: FaultyFiles { harness.files }
    private var path: String { harness.path }
    private var names: [String] { harness.names }

    init() throws {
        harness = try StoreHarness()
    }

    @Test("A torn last line is dropped, and later writes are kept", arguments: [1, 10, 60])
    func tornEnd(_ missingBytes: Int) throws {
        let writes = try (1...3).map(samples.set)
        var first: OutboxStore? = harness.store()
        try first?.add(writes[0])
        try first?.add(writes[1])
        #expect(harness.close(&first))
        let name = try #require(names.first)
        // The end of the line with the third write is missing: its newline and `missingBytes` further bytes.
        try harness.write(
            harness.bytes(name) + OutboxLine.write(3, writes[2]).bytes.dropLast(missingBytes + 1), to: name)
        var next: OutboxStore? = harness.store()
        let found = try harness.adoptAbandonedWrites(&next)
        #expect(found.writes == Array(writes[0...1]) && found.problems == [])
        try next?.add(writes[2])
        #expect(harness.close(&next))
        var last = harness.store()
        #expect(last.adoptAbandonedWrites().writes == writes)
    }

    @Test("A file with a damaged line is renamed and reported, and the writes of its other lines are adopted")
    func damage() throws {
        let writes = try (1...3).map(samples.set)
        var first: OutboxStore? = harness.store()
        for write in writes { try first?.add(write) }
        #expect(harness.close(&first))
        let name = try #require(names.first)
        var bytes = try harness.bytes(name)
        let lineEnds = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        // The first line is the head of the file, so the third line has the second write. The changed byte is near its
        // end.
        bytes[try #require(lineEnds.dropFirst(2).first) - 5] ^= 1
        try harness.write(bytes, to: name)
        // Writes fail with ENOSPC, so `failing` cannot copy the writes to its own file.
        files.fail(.write)
        var failing: OutboxStore? = harness.store()
        let foundWithoutSpace = try harness.adoptAbandonedWrites(&failing)
        #expect(foundWithoutSpace.writes == [writes[0], writes[2]])
        #expect(
            foundWithoutSpace.problems.count == 1
                && foundWithoutSpace.problems.first?.reason.contains("No space left") == true)
        #expect(harness.close(&failing))
        #expect(try harness.bytes(name) == bytes, "the file stays unchanged for the next program")
        files.repair()
        var next: OutboxStore? = harness.store()
        let found = try harness.adoptAbandonedWrites(&next)
        #expect(found.writes == [writes[0], writes[2]])
        let renamed = try #require(names.first { $0.hasSuffix(".damaged") })
        #expect(found.problems.map(\.path) == ["\(path)/\(name)"])
        #expect(
            found.problems.map(\.reason)
                == ["a line is damaged, so its write is lost; the file was renamed to \(path)/\(renamed)"])
        #expect(
            try String(decoding: harness.bytes(renamed), as: UTF8.self).contains("request 2"),
            "the renamed file has the request key of the lost write")
        #expect(harness.close(&next))
        var last = harness.store()
        #expect(last.adoptAbandonedWrites().problems == [])
        #expect(harness.drain(&last) == [writes[0], writes[2]])
        #expect(names == [renamed])
    }

    @Test("An outbox file of a later version is not changed and is reported")
    func future() throws {
        let later = CheckedLine.line(of: Array(#"{"outbox":2,"anything":"else"}"#.utf8))
        try harness.write(later, to: "0000000007-x.outbox")
        var store = harness.store()
        let found = store.adoptAbandonedWrites()
        #expect(found.writes == [])
        #expect(found.problems.map(\.path) == ["\(path)/0000000007-x.outbox"])
        #expect(
            found.problems.map(\.reason)
                == [
                    "the file is from a later version of this library (format 2), so its writes are not sent; update this "
                        + "program"
                ])
        try store.add(samples.set(1))
        #expect(try names.count == 2 && harness.bytes("0000000007-x.outbox") == later)
    }

    @Test("Files of another server and other files stay; drafts without a lock and empty outbox files are removed")
    func others() throws {
        let other = FileOwner(server: "http://other", suite: samples.suite)
        var foreign: OutboxStore? = harness.store(owner: other)
        try foreign?.add(samples.set(1))
        #expect(harness.close(&foreign))
        try harness.write([1, 2, 3], to: "notes.txt")
        try harness.write([1, 2, 3], to: "0000000009-x.outbox.new")
        try harness.write([], to: "0000000009-y.outbox")
        var store = harness.store()
        let found = store.adoptAbandonedWrites()
        #expect(found.writes == [] && found.problems == [])
        #expect(
            names.count == 2 && names.contains("notes.txt"), "the second file is the outbox file of the other server")
        #expect(throws: Never.self) { try store.add(samples.set(1)) }
    }

    @Test(
        "An outbox file of an ended program that cannot be read is reported",
        arguments: [FaultyFiles.Call.list, .open, .lock, .read])
    func unreadable(_ call: FaultyFiles.Call) throws {
        var first: OutboxStore? = harness.store()
        try first?.add(samples.set(1))
        #expect(harness.close(&first))
        files.fail(call, code: EIO)
        var failing: OutboxStore? = harness.store()
        let found = try harness.adoptAbandonedWrites(&failing)
        #expect(found.writes == [] && found.problems.map(\.reason) == ["Input/output error"])
        files.repair()
        #expect(harness.close(&failing))
        var next = harness.store()
        #expect(try next.adoptAbandonedWrites().writes == [samples.set(1)])
    }

    @Test(arguments: [EACCES, ENOTDIR, ENOENT])
    func `A missing or inaccessible outbox directory has no writes and causes no report`(_ code: Int32) {
        files.fail(.list, code: code)
        var store = harness.store()
        #expect(store.adoptAbandonedWrites() == OutboxStore.AbandonedWrites())
    }

    @Test
    func `Without space to rewrite an outbox file, the rewrite is not repeated for each write`() throws {
        var store = harness.store()
        // The store rewrites a file of more than 1 MiB when most of its bytes belong to removed writes.
        let text = JSONValue.string(String(repeating: "x", count: 300_000))
        for number in 0..<8 {
            let write = try samples.write(.set(text), as: "request \(number)")
            try store.add(write)
        }
        files.fail(.rename)
        let renamesBefore = files.log.count("rename")
        for _ in 0..<7 { store.removeFirst() }
        #expect(files.log.count("rename") == renamesBefore + 1)
        files.repair()
        #expect(store.count == 1)
        store.removeFirst()
        #expect(names == [])
    }

    @Test("A line with the number Int64.max in a file with this number is reported, and later writes can be added")
    func hugeNumbers() throws {
        // Valid numbers are less than 2^60, so that the next number cannot overflow. The line therefore counts as
        // damaged, and the name of a new file does not depend on the number of this file.
        let huge = CheckedLine.line(of: Array(#"{"write":9223372036854775807,"requestKey":"a","do":[]}"#.utf8))
        try harness.write(huge, to: "9223372036854775807-x.outbox")
        var store = harness.store()
        #expect(store.adoptAbandonedWrites().problems.count == 1)
        try store.add(samples.set(1))
        try store.add(samples.set(2))
        #expect(store.count == 2)
    }
}
