import Foundation
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct FileNameTests {
    /// Names in octal escapes of `printf`: a byte alone, a sequence that ends too early, the replacement character, an
    /// overlong slash, a surrogate, and letters around these bytes.
    @Test(arguments: [
        #"\377"#, #"a\342\202b"#, #"\357\277\275"#, #"\300\257"#, #"\355\240\200z"#, #"\303\251\200\303\251"#, "é",
        "plain",
    ])
    func `A listed name opens, renames and removes its file, whatever bytes the name has`(name: String) throws {
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
