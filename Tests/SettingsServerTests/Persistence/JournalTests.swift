import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsStorage

/// Tests of reading snapshots, and of the line reader for journals.
@Suite(.ownThread)
struct JournalTests {
    @Test("A snapshot with a changed byte or a cut end is always refused")
    func damagedSnapshot() throws {
        var commits = RandomCommits(seed: 5)
        var state = State(epoch: try #require(Epoch("snap")))
        for number in 1...4 {
            try state.apply(try commits.next(on: state, revision: try #require(Revision(Int64(number)))))
        }
        let disk = SimulatedDisk()
        let directory = DataDirectory("/data", in: disk)
        _ = try SnapshotWriter.write(state, journal: state.revision, in: directory)
        let file = DataDirectory.NumberedFile(
            name: DataDirectory.snapshotName(at: state.revision), revision: state.revision)
        let content = try #require(disk.content(file.name))
        // A snapshot is one JSON document, so that people can read it with common tools.
        #expect(try JSONValue(parsing: content)["suites"]?.array?.count == state.suites.count)
        for index in content.indices {
            var changed = content
            if index % 2 == 0 { changed[index] ^= 1 } else { changed.removeLast(content.count - index) }
            disk.put(file.name, changed)
            #expect(throws: (any Error).self, "byte \(index)") {
                _ = try SnapshotReader.read(file, in: directory, limits: History.Limits())
            }
        }
    }

    @Test("All lines are read completely, whatever the size of the read buffer is")
    func lines() throws {
        let disk = SimulatedDisk()
        let texts = ["", "a", "bb", String(repeating: "c", count: 100), "", "dd"]
        disk.put("file", Array(texts.joined(separator: "\n").utf8))
        for size in 1...9 {
            var reader = LineReader(try OpenFile("/data/file", .reading, in: disk), bufferSize: size)
            var found: [String] = []
            var offset = 0
            while let line = try reader.next() {
                #expect(line.offset == offset && line.number == found.count + 1)
                found.append(String(decoding: reader.buffer[line.range], as: UTF8.self))
                #expect(line.isTerminated == (found.count < texts.count))
                offset += line.range.count + 1
            }
            #expect(found == texts)
        }
    }
}
