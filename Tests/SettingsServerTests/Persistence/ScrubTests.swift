import Platform
import SettingsAPI
import SettingsEngine
import SettingsStorage
import Synchronization
import TestSupport
import Testing

/// A scrub reads all files of a data directory to detect damaged bytes.
@Suite(.ownThread)
struct ScrubTests {
    private let folder = DataFolder()
    private let metrics = StorageMetrics()

    /// `fill` stores the commits 1 to 12, and writes snapshots after the commits 4 and 8, each with a new journal.
    init() throws {
        _ = try folder.fill()
    }

    /// Scrubs the directory once. Returns the log messages. `revision` is the last published commit, which the journals
    /// must have. The pace has no effect, because the file system is simulated.
    private func scrub(_ directory: DataDirectory? = nil, upTo revision: Int64 = 12) throws -> [String] {
        let lines = Mutex<[String]>([])
        let published = try #require(Revision(revision))
        let log = Log(level: .warning, clock: { Timestamp(milliseconds: 0) }) { line in
            lines.withLock { $0.append(line) }
        }
        let directory = directory ?? folder.directory
        Scrub(directory, pace: ReadPace(bytesPerSecond: 1), metrics, log) { published }.run()
        return lines.withLock { $0 }
    }

    /// The journals and snapshots, which a scrub reads.
    private var files: [String] { folder.names.filter { $0.hasPrefix("journal-") || $0.hasPrefix("snapshot-") } }

    @Test("A scrub of intact files counts the files and reports no damage, before and after a start")
    func sound() throws {
        #expect(try scrub() == [])
        #expect(metrics.contents.scrubbedFiles == files.count && files.count >= 4)
        #expect(metrics.contents.scrubTime != nil)
        let (_, log) = try folder.open()
        #expect(try scrub() == [])
        try log.close()
        #expect(try scrub() == [])
    }

    @Test("A scrub reports a changed byte with its file, and counts the damaged files")
    func flipped() throws {
        for name in files {
            let sound = try folder.read(name)
            for offset in stride(from: 0, to: sound.count, by: 11) {
                try folder.edit(name) { $0[offset] ^= 0x10 }
                let lines = try scrub()
                let line = try #require(lines.first, "\(name) at \(offset)")
                #expect(line.contains("/data/\(name)"), "\(offset): \(line)")
                #expect(metrics.contents.damagedFiles == lines.count)
                folder.write(name, sound)
            }
        }
        #expect(try scrub() == [])
        #expect(metrics.contents.damagedFiles == 0)
    }

    @Test("A scrub reports a changed byte in a past file with a remedy")
    func past() throws {
        // With these limits, the history in memory is short, so the log writes past files.
        var setup = LogHarness.Setup(journalBytes: 4_000)
        setup.history = PastFilesTests.limits
        let harness = try LogHarness(SimulatedDisk(), setup, seed: 3)
        try harness.open()
        for _ in 0..<20 { try harness.writeBatch() }
        let lastRevision = try #require(harness.newestState).revision
        let names = harness.disk.names.filter { $0.hasPrefix("past-") }
        #expect(names.count > 3)
        let directory = DataDirectory("/data", in: harness.disk)
        #expect(try scrub(directory, upTo: lastRevision.number) == [])
        let all = metrics.contents.scrubbedFiles
        let sound = try #require(harness.disk.content(names[1]))
        for offset in stride(from: 0, to: sound.count, by: 97) {
            var damaged = sound
            damaged[offset] ^= 0x10
            harness.disk.put(names[1], damaged)
            let lines = try scrub(directory, upTo: lastRevision.number)
            let line = try #require(lines.first, "at \(offset)")
            #expect(line.contains("/data/\(names[1])") && line.contains("put a copy of the file back"))
            #expect(lines.count == 1 && metrics.contents.damagedFiles == 1 && metrics.contents.scrubbedFiles == all)
        }
    }

    @Test("A scrub reports a journal without its last line, but not a journal with an unfinished commit at its end")
    func short() throws {
        let newest = try #require(files.last { $0.hasPrefix("journal-") })
        let sound = try folder.read(newest)
        let start = sound.dropLast().lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        folder.write(newest, sound[..<start])
        #expect(try scrub().first?.contains("the file ends before commit 12") == true)
        // The thirteenth commit is only partly written.
        folder.write(newest, sound + sound[start...].prefix(20))
        #expect(try scrub() == [])
        // Zeros at the end are space that the log has preallocated.
        folder.write(newest, sound + [UInt8](repeating: 0, count: 4096))
        #expect(try scrub() == [])
    }

    @Test("A cancelled scrub reports nothing")
    func abandoned() throws {
        let pace = ReadPace(bytesPerSecond: 1)
        pace.stop()
        let log = Log(level: .warning, clock: { Timestamp(milliseconds: 0) }) { _ in
            Issue.record("a cancelled scrub logged a message")
        }
        Scrub(folder.directory, pace: pace, metrics, log) { .zero }.run()
        #expect(metrics.contents.scrubTime == nil)
    }
}
