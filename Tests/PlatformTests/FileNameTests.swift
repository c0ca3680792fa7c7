import Foundation
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct FileNameTests {
    /// Names in octal escapes of `printf`. Five names are not valid UTF-8: an invalid byte, a sequence that ends too
    /// early, an overlong encoding of `/`, a surrogate, and an invalid byte between two letters. The other names are
    /// the replacement character (by which Swift replaces invalid bytes), `é` and ASCII letters.
    @Test(arguments: [
        #"\377"#, #"a\342\202b"#, #"\357\277\275"#, #"\300\257"#, #"\355\240\200z"#, #"\303\251\200\303\251"#, "é",
        "plain",
    ])
    func `A listed name can be used to read, rename and remove its file, with any bytes`(name: String) throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/root"
        let create = #"mkdir "$1" && cd "$1" && printf data >"$(printf "$2")""#
        var command = ShellCommand(create)
        command.arguments = [root, name]
        #expect(try command.run() == 0)
        let fileSystem = POSIXFileSystem()
        let listed = try #require(try fileSystem.list(root).first)
        #expect(try FileContents.read("\(root)/\(listed)") == Array("data".utf8))
        #expect(try OpenFile("\(root)/\(listed)", .reading, in: fileSystem).readAll() == Array("data".utf8))
        #expect(try fileSystem.status("\(root)/\(listed)").size == 4)
        try fileSystem.makeDirectory("\(root)/\(listed).d/sub")
        try fileSystem.rename("\(root)/\(listed)", to: "\(root)/\(listed).d/sub/\(listed)")
        #expect(try fileSystem.list("\(root)/\(listed).d/sub") == [listed])
        try fileSystem.remove("\(root)/\(listed).d/sub/\(listed)")
        #expect(try fileSystem.list("\(root)/\(listed).d/sub") == [])
    }
}
