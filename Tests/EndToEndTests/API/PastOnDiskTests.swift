import Foundation
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// History beyond the commits in memory, which `history.days` keeps in past files. The caller `all` of
/// `ProtectedDaemon` has every right. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct PastOnDiskTests {
    /// The n-th write has the revision n. At the revision n above 6, `plain` has the value n - 6.
    private static let writes: [Request] =
        [
            #"PUT app/keys/pin "1111""#, "PUT app/keys/plain 0",
            #"PUT app/schema {"additionalProperties":{},"properties":{"token":{"writeOnly":true}}}"#,
            #"PUT app/keys/token "2222""#, "DELETE app/keys/token",
            // The schema makes `pin` a secret, and `token` is no longer a secret.
            #"PUT app/schema {"additionalProperties":{},"properties":{"pin":{"writeOnly":true}}}"#,
        ] + (1...60).map { Request("PUT app/keys/plain \($0)") }

    /// A daemon whose memory has only eight commits; past files have the earlier commits.
    private static func daemonWithPastFiles(after earlier: [Request] = []) throws -> ProtectedDaemon {
        let grants = ["reader": ["app:read"], "old": ["old.*:read"]]
        let protected = try ProtectedDaemon(grants, given: earlier + writes) { configuration in
            configuration.history.commits = 8
            configuration.history.suiteCommits = 0
            // One day, in milliseconds.
            configuration.history.age = 86_400_000
        }
        // The daemon answers 503 until a past file has the evicted commits, and then 404: revision 0 has no suites.
        try eventually { try protected.send("GET app?at=0", as: "all").status == 404 }
        return protected
    }

    @Test("History on disk can be read, compared, undone and restored, back to the first commit")
    func answers() throws {
        let protected = try Self.daemonWithPastFiles()
        #expect(try protected.answer("GET app?at=2&raw", as: "all").json == ["pin": "1111", "plain": 0])
        #expect(try protected.answer("GET app/keys/plain?at=20&raw", as: "all").text == "14")
        var (seen, before): ([Int64], String) = ([], "")
        repeat {
            let page = try #require(try protected.answer(Request("GET app/history?limit=9\(before)"), as: "all").json)
            #expect(page["oldest"] == 0)
            seen += page["commits"]?.array?.compactMap { $0["revision"]?.integer } ?? []
            before = page["next"]?.integer.map { "&before=\($0)" } ?? ""
        } while !before.isEmpty
        #expect(seen == (1...66).reversed())
        let difference = try protected.answer("GET app/diff?from=2&to=20", as: "all").json
        #expect(difference?["changes"]?.array?.map { $0["key"] } == ["plain"])
        #expect(difference?["schemaChanged"] == true)
        // Commit 20 changed `plain` from 13 to 14, commit 21 to 15, and the last commit to 60.
        let refused = try protected.answer(#"POST app/undo {"revision":20}"#, as: "all")
        #expect(refused.status == 409 && refused.json?["code"] == "changed_since")
        #expect(refused.json?["changes"]?.array?.contains { $0["new"] == 60 } == true)
        #expect(try protected.answer(#"POST app/undo {"revision":20,"force":true}"#, as: "all").status == 200)
        #expect(try protected.answer("GET app/keys/plain?raw", as: "all").text == "13")
        #expect(try protected.answer(#"POST /v1/undo {"revision":21,"force":true}"#, as: "all").status == 200)
        #expect(try protected.answer("GET app/keys/plain?raw", as: "all").text == "14")
        let restored = try protected.answer(#"POST app/restore {"to":30,"keys":["plain"]}"#, as: "all")
        #expect(restored.status == 200 && restored.json?["changes"]?.array?.first?["new"] == 24)
        let forbidden = try protected.answer(#"POST app/undo {"revision":20,"force":true}"#, as: "reader")
        #expect(forbidden.status == 403, "\(forbidden.text)")
    }

    @Test
    func `The pages of a list with dropped suites also have the suites whose commits are only in past files`() throws {
        // The names `old.100` to `old.399` have equal lengths, so their order is the order of the numbers.
        let dropped = (0..<300).flatMap { number -> [Request] in
            ["PUT old.\(number + 100)/keys/a 1", "DELETE old.\(number + 100)?drop"].map { Request($0) }
        }
        let protected = try Self.daemonWithPastFiles(after: dropped + ["PUT hidden/keys/a 1", "DELETE hidden?drop"])
        let names = ["app", "hidden"] + (0..<300).map { "old.\($0 + 100)" }
        for (caller, names) in [("all", names), ("old", Array(names.dropFirst(2))), ("reader", ["app"])] {
            for limit in [1, 7, 1000] {
                var (seen, after): ([String], String) = ([], "")
                repeat {
                    let request = Request("GET /v1/suites?dropped&limit=\(limit)\(after)")
                    let page = try #require(try protected.answer(request, as: caller).json)
                    let suites = page["suites"]?.array ?? []
                    #expect(suites.count <= limit)
                    for suite in suites where suite["suite"] != "app" {
                        #expect(suite["dropped"] == true && suite["keyCount"] == 0)
                    }
                    seen += suites.compactMap { $0["suite"]?.string }
                    after = page["next"]?.string.map { "&after=\($0)" } ?? ""
                } while !after.isEmpty
                #expect(seen == names, "\(caller), \(limit)")
            }
        }
        let listed = try protected.answer("GET /v1/suites?dropped&prefix=old.399", as: "all").json?["suites"]?.array
        // The first 600 writes create and drop `old.100` to `old.399`, so the drop of `old.399` has the revision 600.
        #expect(listed?.map { $0["revision"] } == [600])
        let history = try protected.answer("GET old.399/history", as: "all").json?["commits"]?.array
        #expect(history?.map { $0["revision"] } == [600, 599])
    }

    @Test("Metrics report the number, the size and the age of the past files")
    func metrics() throws {
        let before = Timestamp.now().milliseconds / 1000
        let protected = try Self.daemonWithPastFiles()
        let data = protected.daemon.directory.path + "/data"
        func sizes() throws -> [Int] {
            // A file with another suffix is temporary: the daemon renames the file after writing it.
            let names = try FileManager.default.contentsOfDirectory(atPath: data).filter {
                $0.hasPrefix("past-") && $0.hasSuffix(".jsonl")
            }
            return try names.map { try Data(contentsOf: URL(filePath: "\(data)/\($0)")).count }
        }
        func metric(_ name: String) throws -> Int? {
            let metrics = try protected.answer("GET /metrics", as: "all").text.split(separator: "\n")
            return metrics.first { $0.hasPrefix("settingsd_past_\(name) ") }.flatMap {
                Int($0.split(separator: " ")[1])
            }
        }
        try eventually {
            let sizes = try sizes()
            return try metric("files") == sizes.count && metric("bytes") == sizes.reduce(0, +) && sizes.count > 1
        }
        let oldest = try #require(try metric("oldest_timestamp_seconds"))
        #expect((before...(before + 600)).contains(Int64(oldest)))
    }

    @Test("Former and current secrets are hidden in history on disk")
    func secrets() throws {
        let protected = try Self.daemonWithPastFiles()
        for target in [
            "app?at=2", "app?at=2&view=stored", "app?at=4", "app/keys?at=2", "app/keys?at=4", "app/keys/pin?at=2",
            "app/keys/token?at=4", "app/history?before=8", "app/diff?from=0&to=2", "app/diff?from=3&to=4",
            "app/diff?from=4&to=5", "app/diff?from=0",
        ] {
            let request = Request("GET \(target)")
            let shown = try protected.answer(request, as: "reader")
            #expect(shown.status == 200 && !shown.text.contains("1111") && !shown.text.contains("2222"), "\(target)")
        }
        #expect(try protected.answer("GET app/keys/pin?at=2&raw", as: "reader").status == 403)
        #expect(try protected.answer("GET app/keys/token?at=4&raw", as: "reader").status == 403)
        #expect(try protected.answer("GET app/keys/token?at=4&raw", as: "all").text == "2222")
    }
}

extension ProtectedDaemon {
    /// Repeats a request while the daemon answers 503, which means that commits are being moved to a past file.
    fileprivate func answer(_ request: Request, as name: String) throws -> RawResponse {
        var answer = try send(request, as: name)
        try eventually {
            if answer.status == 503 { answer = try send(request, as: name) }
            return answer.status != 503
        }
        return answer
    }
}
