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

    @Test
    func `A read through a symbolic link returns the bytes, but not more than the limit`() throws {
        let file = try directory.file("file", "0123456789")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try FileContents.read(link) == Array("0123456789".utf8))
        #expect(try FileContents.read(link, upTo: 4) == Array("0123".utf8))
        #expect(try FileContents.read(link, upTo: 0) == [])
    }

    @Test
    func `A read of a FIFO without a writer returns at once`() throws {
        let path = directory.path + "/fifo"
        #expect(try ShellCommand("mkfifo '\(path)'").run() == 0)
        #expect(try FileContents.read(path, waitsForPipe: false) == [])
    }

    @Test
    func `A read of a regular file follows a symbolic link and returns at most the limit`() throws {
        let file = try directory.file("file", "0123456789")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try FileContents.readRegularFile(link, upTo: 100) == Array("0123456789".utf8))
        #expect(try FileContents.readRegularFile(link, upTo: 4) == Array("0123".utf8))
    }

    @Test(arguments: [
        ("mkfifo file", "a FIFO"), ("mkdir file", "a directory"), ("ln -s /dev/zero file", "a device"),
    ])
    func `A read of a regular file refuses a file of another kind at once`(command: String, kind: String) throws {
        #expect(try ShellCommand("cd '\(directory.path)' && \(command)").run() == 0)
        let path = directory.path + "/file"
        #expect(throws: UnreadableFile.notRegular(kind: kind)) { try FileContents.readRegularFile(path, upTo: 100) }
    }

    @Test
    func `A read of a missing regular file throws the failed call and its error code`() {
        let path = directory.path + "/missing"
        #expect(throws: UnreadableFile.failed(SystemError(call: "stat", code: ENOENT))) {
            try FileContents.readRegularFile(path, upTo: 100)
        }
    }

    @Test
    func `A read of a missing file throws the failed call and its error code`() {
        let path = directory.path + "/missing"
        #expect(throws: SystemError(call: "open", code: ENOENT)) { try FileContents.read(path) }
    }
}
