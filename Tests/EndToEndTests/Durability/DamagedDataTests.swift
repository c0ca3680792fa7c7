import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Starts with damaged files: the daemon has every commit, or it refuses to start. Only a last commit that is
/// incomplete, as after a crash during its write, is dropped. In the fixture of version 0.3, the last commit, with the
/// revision 8, changed the setting `editor/fontSize` from 13 to 14. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct DamagedDataTests {
    private static let fontSize: Request = "GET editor/keys/fontSize?raw"

    /// Starts a daemon with the data. Returns its answer to the request; nil if the start fails with an error that
    /// names the file.
    private func answerAfterStart(_ data: StoredData, _ request: Request = fontSize, naming file: String) throws
        -> String?
    {
        do {
            return try TestDaemon(in: data.write()).send(request).text
        } catch let error as StartError {
            let text = error.description
            #expect(text.contains("/\(file)") && text.contains("settingsd repair"), "\(text)")
            return nil
        }
    }

    @Test("A data directory of version 0.3 is read completely")
    func earlierVersion() throws {
        let first = try TestDaemon(in: try StoredData(version: "0.3").write())
        // The fixture has these values, the epoch `6fravt9c` and 8 commits, of which commit 4 set the volume to 0.8.
        func expectFixture(_ daemon: TestDaemon) throws {
            let listing = try daemon.send("GET /v1/suites")
            #expect(listing.field("Settings-Cursor") == "6fravt9c.8")
            #expect(try daemon.send("GET player/keys/volume?raw").text == "0.25")
            #expect(try daemon.send("GET player?at=4").json?["values"]?["volume"] == 0.8)
            #expect(try daemon.send("GET player/keys/pin").json?["secret"] == true)
            #expect(try daemon.send(Self.fontSize).text == "14")
            #expect(try daemon.send("GET player/schema").status == 200)
        }
        try expectFixture(first)
        first.stop()
        try expectFixture(try TestDaemon(in: first.directory))
    }

    @Test("A schema of version 0.3 with writeOnly inside a key is read from journal, snapshot and history")
    func earlierSchema() throws {
        var data = try StoredData(version: "0.3")
        let document = #"""
            {"properties":{"login":{"properties":{"pin":{"writeOnly":true}}}},"additionalProperties":false}
            """#
        let line = #"""
            "after":8,"synced":true,"commit":{"revision":9,"time":"2026-11-22T00:38:56.409Z","suites":\#
            [{"op":"create","suite":"old"},{"op":"setSchema","suite":"old","schemaRevision":9,"schema":\#(document)}]}}
            """#
        // `journalLine` adds the checksum.
        data.files[data.newestJournal]? += StoredData.journalLine(line[...]) + Array("\n".utf8)
        let first = try TestDaemon(in: data.write())
        #expect(try first.send("GET old/schema").text == document)
        first.stop()
        let again = try TestDaemon(in: first.directory)
        #expect(try again.send("GET old/schema").text == document)
        try again.sendOK("DELETE old/schema")
        #expect(try again.send("GET old?at=9").json?["schemaRevision"] == 9)
    }

    /// The bits to change in a byte. 0xFF stands for a byte that becomes zero.
    private static let masks: [UInt8] = [0x01, 0x10, 0x80, 0xFF]

    @Test("A changed byte in the last commit is repaired or reported, and the commit does not disappear silently")
    func changedByte() throws {
        let data = try StoredData(version: "0.3")
        let name = data.newestJournal
        let undamaged = try #require(data.files[name])
        let last = undamaged.lastLine
        for index in last.lowerBound...last.upperBound {
            var damaged = data
            // The test damages each byte with only one of the four masks, and the next byte with the next mask.
            let mask = Self.masks[index % 4]
            damaged.files[name]?[index] = mask == 0xFF ? 0 : undamaged[index] ^ mask
            let value = try answerAfterStart(damaged, naming: "\(name), line 2, at byte \(last.lowerBound)")
            #expect(value ?? "14" == "14", "byte \(index)")
            if index == last.upperBound { #expect(value == "14", "a damaged line feed loses no commit") }
        }
    }

    @Test("A journal truncated within its last commit loses that commit; a missing newline at the end loses nothing")
    func cut() throws {
        let data = try StoredData(version: "0.3")
        let name = data.newestJournal
        let last = try #require(data.files[name]).lastLine
        for end in last.lowerBound...last.upperBound {
            // The daemon reserves space with zeros at the end of a journal.
            for zeroCount in end == last.upperBound ? [0, 1, 900] : [[0, 1, 900][end % 3]] {
                var damaged = data
                damaged.files[name]?.removeSubrange(end...)
                damaged.files[name]? += [UInt8](repeating: 0, count: zeroCount)
                let value = try answerAfterStart(damaged, naming: name)
                #expect(value == (end == last.upperBound ? "14" : "13"), "byte \(end), \(zeroCount) zeros")
            }
        }
    }

    /// The files of a daemon whose last commit spans several disk sectors of 512 bytes, and the range of that commit in
    /// the newest journal.
    private func dataWithLargeCommit() throws -> (StoredData, Range<Int>) {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        try daemon.sendOK(Request("PUT app/keys/a \"\(String(repeating: "a", count: 1900))\""))
        let data = try StoredData(in: daemon.directory.path)
        return (data, try #require(data.files[data.newestJournal]).lastLine)
    }

    @Test("If complete sectors of the last commit are zeros, which a crash can leave, a start drops the commit")
    func lostSectors() throws {
        let (data, last) = try dataWithLargeCommit()
        let sectors = (last.lowerBound / 512)...(last.upperBound / 512)
        // Each bit of `lostSectors` stands for a sector of the commit.
        for lostSectors in 1..<(1 << sectors.count) {
            var damaged = data
            for (number, sector) in sectors.enumerated() where lostSectors >> number & 1 == 1 {
                for offset in max(last.lowerBound, sector * 512)...min(last.upperBound, sector * 512 + 511) {
                    damaged.files[data.newestJournal]?[offset] = 0
                }
            }
            // The start must succeed, so no error names a file.
            #expect(try answerAfterStart(damaged, "GET app/keys/a?raw", naming: "") == "1", "sectors \(lostSectors)")
        }
    }

    @Test("If the last commit has zeros that are not complete sectors, a start reports damage")
    func zeros() throws {
        let (data, last) = try dataWithLargeCommit()
        let name = data.newestJournal
        for offset in stride(from: last.lowerBound + 1, to: last.upperBound, by: 19) {
            for count in [1, 511, 512, 513] where offset + count < last.upperBound {
                // A complete sector of zeros is not damage.
                guard (offset % 512, count) != (0, 512) else { continue }
                var damaged = data
                for zero in offset..<(offset + count) { damaged.files[name]?[zero] = 0 }
                let value = try answerAfterStart(
                    damaged, "GET app/keys/a?raw", naming: "\(name), line 3, at byte \(last.lowerBound)")
                #expect(value == nil, "\(count) bytes from \(offset)")
            }
        }
    }
}
