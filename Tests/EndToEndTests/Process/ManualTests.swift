import Foundation
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// The pages in `docs/reference` list the metrics, files, messages, limits and options of the program.
@Suite(.ownThread)
struct ManualTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func page(_ name: String) throws -> String {
        try String(contentsOf: root.appending(path: "docs/reference/\(name).md"), encoding: .utf8)
    }

    /// The words in code font in the first column of each table whose first column has this title.
    private func tables(_ title: String, of page: String) throws -> [[String]] {
        try Self.page(page).components(separatedBy: "\n\n").filter { $0.hasPrefix("| \(title) |") }.map { table in
            table.split(separator: "\n").dropFirst(2).flatMap { row in
                Self.code(in: row.split(separator: " | ")[0])
            }
        }
    }

    /// The words in code font.
    private static func code(in text: some StringProtocol) -> [String] {
        let parts = text.components(separatedBy: "`")
        return stride(from: 1, to: parts.count, by: 2).map { parts[$0] }
    }

    /// The source of some targets without comments, with each concatenated string literal in one piece.
    private static func source(of targets: [String]) throws -> String {
        try targets.map { try source(in: "Sources/\($0)") }.joined().replacing(/"\s*\+\s*"/, with: "").replacing(
            "\\\"", with: "\"")
    }

    /// The text of all Swift files in a folder without their comments.
    private static func source(in folder: String) throws -> String {
        try sources(in: folder).sorted { $0.key < $1.key }.map(\.value).joined()
    }

    /// The text of each Swift file in a folder without its comments, by path.
    private static func sources(in folder: String) throws -> [String: String] {
        var texts: [String: String] = [:]
        let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            texts[file.path] = lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
        }
        return texts
    }

    /// The parts of a message between `…`, `*`, angle brackets and punctuation. Leaves out parts without a letter.
    private static func parts(of message: String) -> [String] {
        message.split { "…:;,<>*".contains($0) }.map { $0.trimmingCharacters(in: .whitespaces) }.filter { part in
            part.contains { $0.isLetter }
        }
    }

    @Test("The reference lists the metrics of a daemon without etcd, and no others")
    func metrics() throws {
        let lines = try TestDaemon().send("GET /metrics").text.split(separator: "\n")
        let metrics = lines.filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) }
        #expect(metrics.count > 5)
        let listed = try tables("metric", of: "metrics").flatMap { $0 }.filter { !$0.hasPrefix("settingsd_etcd_") }
        #expect(listed.sorted() == metrics.sorted())
    }

    @Test("A data directory has the files in the reference and no others")
    func files() throws {
        let directory = try TemporaryDirectory()
        let data = directory.path + "/data"
        var seen: [String] = []
        func listFiles() throws { seen += try FileManager.default.contentsOfDirectory(atPath: data) }

        func write(to daemon: DaemonProcess) throws {
            let peer = try RawClient(port: daemon.port)
            #expect(try peer.ask("PUT app/keys/a 1").status < 300)
        }

        let first = try DaemonProcess(data: data)
        try write(to: first)
        try listFiles()
        try first.stop()
        try listFiles()
        let second = try DaemonProcess(data: data)
        try write(to: second)
        try second.killAtOnce()
        // A crash can leave a torn line in the journal and an incomplete snapshot. Zeros follow the last line of a
        // journal, because its space is preallocated. The text `torn` replaces the first four zeros.
        let journals = try FileManager.default.contentsOfDirectory(atPath: data).filter { $0.hasPrefix("journal-") }
        // The newest journal has the highest number. The lengths of the names count first, because 10 is higher than 9.
        let newest = try #require(journals.max { ($0.count, $0) < ($1.count, $1) })
        let journal = "\(data)/\(newest)"
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: journal)))
        let end = try #require(bytes.lastIndex(of: UInt8(ascii: "\n"))) + 1
        bytes.replaceSubrange(end..<min(end + 4, bytes.count), with: Array("torn".utf8))
        try Data(bytes).write(to: URL(filePath: journal))
        try Data().write(to: URL(filePath: "\(data)/snapshot-9.json.tmp"))
        try listFiles()
        let third = try DaemonProcess(data: data)
        try listFiles()
        try third.stop()
        // This daemon writes past files and, because it has an audit file, the file `AUDIT`.
        let daemonWithPastFiles = try TestDaemon(in: directory, data: data) { configuration in
            (configuration.history.commits, configuration.history.suiteCommits) = (2, 0)
            // One day, in milliseconds.
            configuration.history.age = 86_400_000
            configuration.auditFile = directory.path + "/audit.jsonl"
        }
        for number in 1...10 { try daemonWithPastFiles.sendOK(Request("PUT app/keys/a \(number)")) }
        try eventually {
            try FileManager.default.contentsOfDirectory(atPath: data).contains {
                $0.hasPrefix("past-") && $0.hasSuffix(".jsonl")
            }
        }
        try listFiles()
        daemonWithPastFiles.stop()
        // With access control, the daemon writes the file `token-use.json`.
        let token = try ProtectedDaemon.makeToken("t", ["*:read"], in: directory.path + "/tokens.json")
        let protected = try TestDaemon(in: directory, data: data) { $0.access.tokens = directory.path + "/tokens.json" }
        try protected.sendOK(Request("GET app", "Authorization: Bearer \(token)"))
        protected.stop()
        try listFiles()

        let names = try #require(tables("file", of: "files").first)
        for name in Set(seen) {
            #expect(try names.contains { try Self.matches(name, $0) }, "\(name) is not in the reference")
        }
        for name in names {
            #expect(
                try seen.contains { try Self.matches($0, name) }, "the reference lists \(name), but no run created it")
        }
        // The third start moved the torn line into a `set-aside-` file.
        #expect(!seen.filter { $0.hasPrefix("set-aside-") }.isEmpty)
    }

    /// True if a name matches the template in the reference: `<revision>` or another word in angle
    /// brackets stands for a number, and `…` for any text.
    private static func matches(_ name: String, _ template: String) throws -> Bool {
        let pattern = NSRegularExpression.escapedPattern(for: template).replacing(/<[a-z]+>/, with: "[0-9]+").replacing(
            "…", with: ".+")
        return try Regex(pattern).wholeMatch(in: name) != nil
    }

    @Test("The names of the files of Swift programs in the reference occur in the source of the client library")
    func filesOfPrograms() throws {
        let source = try Self.source(of: ["SettingsClient"])
        // `~`, `SERVER` and `SUITE` stand for parts of a path.
        let names = try #require(tables("file", of: "files").last).flatMap { $0.split(separator: "/") }.flatMap {
            name in
            Self.parts(of: String(name)).filter { $0 != "~" && $0 != "SERVER" && $0 != "SUITE" }
        }
        #expect(names.count >= 6)
        #expect(names.filter { !source.contains($0) } == [])
    }

    private static let sharedTargets = ["SettingsModel", "SettingsAPI", "SettingsEngine", "HTTPWire", "Platform"]
    private static let daemonTargets = [
        "HTTPServer", "SettingsCluster", "SettingsServer", "SettingsStorage", "SettingsWeb",
    ]

    @Test("The messages in the reference are messages of the program")
    func messages() throws {
        let tables = try tables("message", of: "messages")
        let clientMessages = try #require(tables.last)
        let server = try Self.source(of: Self.daemonTargets + Self.sharedTargets)
        let client = try Self.source(of: ["SettingsClient", "SettingsHTTP", "SettingsKeys"] + Self.sharedTargets)
        for (messages, source) in [(tables.dropLast().flatMap { $0 }, server), (clientMessages, client)] {
            #expect(messages.count > 5)
            for message in messages {
                let missing = Self.parts(of: message).filter { !source.contains($0) }
                #expect(missing == [], "not in the source: \(message)")
            }
        }
    }

    @Test("The reference has every warning and error that the daemon logs")
    func logMessages() throws {
        let page = try Self.page("messages")
        let source = try Self.source(of: Self.daemonTargets)
        let calls = ["warning(", "error(", "warn("].flatMap { source.components(separatedBy: $0).dropFirst() }
        let messages = calls.map { $0.prefix(500).drop { $0.isWhitespace } }.filter { $0.first == "\"" }.map { call in
            // Each interpolation becomes `…`, as in the reference.
            call.dropFirst().replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: "…").prefix { $0 != "\"" }
        }
        #expect(messages.count > 40)
        for message in messages {
            // The first long part identifies the message. The reference may shorten the rest.
            let parts = message.split { "…:;,()".contains($0) }.map { $0.trimmingCharacters(in: .whitespaces) }
            guard let part = parts.first(where: { $0.count > 7 }) else { continue }
            #expect(page.contains(part), "not in the reference: \(message)")
        }
    }

    @Test("Each promise in SECURITY.md names tests that exist")
    func promises() throws {
        let page = try String(contentsOf: Self.root.appending(path: "SECURITY.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").drop { $0 != "| promise | test |" }.dropFirst(2)
        let names = rows.prefix { $0.hasPrefix("|") }.flatMap { row in
            Self.code(in: String(row.split(separator: " | ").last ?? "")).filter { !$0.contains("/") }
        }
        #expect(names.count > 40)
        let sources = try Self.sources(in: "Tests").values
        // The name of a suite precedes the names of its tests.
        var suite = ""
        for name in names {
            if name.first?.isUppercase ?? false {
                suite = sources.filter { $0.contains("struct \(name) {") }.joined()
                #expect(suite != "", "there is no suite \(name)")
            } else {
                #expect(suite.contains("func \(name)("), "the suite has no test \(name)")
            }
        }
    }

    @Test("The reference lists the options of a configuration, and no others")
    func options() throws {
        var known: [String] = []
        for group in Configuration().document.object ?? [:] {
            known += group.value.object.map { $0.names.map { "\(group.name).\($0)" } } ?? [group.name]
        }
        let tables = try tables("option", of: "configuration") + tables("option", of: "limits")
        #expect(tables.flatMap { $0 }.sorted() == known.sorted())
    }
}
