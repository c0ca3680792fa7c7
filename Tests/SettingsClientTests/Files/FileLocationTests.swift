import Foundation
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct FileLocationTests {
    @Test("The client stores files in the chosen directory, or in the user's directory for state or caches")
    func directories() throws {
        let suite = try SuiteName("com.example.app")
        // `.usual` is the directory of the user for this kind of file.
        func directory(_ files: FileLocation, _ kind: FileLocation.Kind, _ environment: [String: String]) -> String? {
            files.directory(for: kind, of: FileOwner(server: "http://h:1", suite: suite)) { environment[$0] }
        }
        let subdirectory = "/http%3A%2F%2Fh%3A1/com.example.app"
        #expect(directory(.none, .outbox, ["HOME": "/me"]) == nil)
        #expect(directory(.directory("/a/b"), .cache, [:]) == "/a/b" + subdirectory)
        #expect(directory(.usual, .outbox, ["HOME": "/me"]) == "/me/.local/state/settings/outbox" + subdirectory)
        #expect(
            directory(.usual, .outbox, ["HOME": "/me", "XDG_STATE_HOME": "/s"]) == "/s/settings/outbox" + subdirectory)
        #expect(
            directory(.usual, .cache, ["HOME": "/me", "XDG_STATE_HOME": "/s"]) == "/me/.cache/settings" + subdirectory)
        #expect(directory(.usual, .cache, ["XDG_CACHE_HOME": "/c"]) == "/c/settings" + subdirectory)
        #expect(
            directory(.usual, .cache, ["XDG_CACHE_HOME": "c", "HOME": "/me"]) == "/me/.cache/settings" + subdirectory)
        // None of these environments contains an absolute path.
        for environment in [[:], ["HOME": ""], ["HOME": "me"], ["XDG_STATE_HOME": "s"]] {
            #expect(directory(.usual, .outbox, environment) == nil)
        }
    }

    @Test("A relative directory is resolved against the working directory when the location is made")
    func relativeDirectories() {
        let workingDirectory = FileManager.default.currentDirectoryPath
        #expect(FileLocation.directory("a/b") == .directory(workingDirectory + "/a/b"))
        #expect(FileLocation.directory("") == .directory(workingDirectory + "/"))
        #expect(FileLocation.directory("/a") != .directory(workingDirectory + "/a"))
    }

    @Test("Each server address has its own directory name")
    func names() {
        // Besides addresses: names with a special meaning, texts that look encoded, and texts near the limit of 200
        // bytes.
        let long = "unix:/" + String(repeating: "ä", count: 50)
        let texts = [
            "http://127.0.0.1:7070", "http://127.0.0.1:70", "http://[::1]:7070", "unix:/run/settingsd.sock", ".", "..",
            "...", "%2E", "%2E.", "a/b", "a%2Fb", long + "1", long + "2", String(repeating: "x", count: 200),
            String(repeating: "x", count: 201), String(repeating: "x", count: 202),
        ]
        var names: Set<String> = []
        for text in texts {
            let name = FileLocation.encoded(text)
            #expect((1...200).contains(name.utf8.count) && name != "." && name != "..", "\(text)")
            #expect(name.utf8.allSatisfy { "%~-_.".utf8.contains($0) || isAlphanumeric($0) }, "\(text)")
            #expect(names.insert(name).inserted, "\(text)")
        }
    }

    private func isAlphanumeric(_ byte: UInt8) -> Bool {
        // The bit 0x20 turns an upper-case letter into a lower-case letter.
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
