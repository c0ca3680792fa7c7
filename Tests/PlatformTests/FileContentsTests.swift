import Foundation
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct FileContentsTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("A read through a symbolic link returns the bytes, but not more than the limit")
    func readReturnsBytesUpToLimit() throws {
        let file = try directory.file("file", "0123456789")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try FileContents.read(link) == Array("0123456789".utf8))
        #expect(try FileContents.read(link, upTo: 4) == Array("0123".utf8))
        #expect(try FileContents.read(link, upTo: 0) == [])
    }

    @Test("A read of a FIFO without a writer returns at once")
    func readOfFIFOReturns() throws {
        let path = directory.path + "/fifo"
        #expect(try ShellCommand("mkfifo '\(path)'").run() == 0)
        #expect(try FileContents.read(path, waitsForPipe: false) == [])
    }

    @Test("A read of a missing file throws the call and the code of the system")
    func readOfMissingFileThrows() {
        let path = directory.path + "/missing"
        #expect(throws: SystemError(call: "open", code: 2)) { try FileContents.read(path) }
    }
}
