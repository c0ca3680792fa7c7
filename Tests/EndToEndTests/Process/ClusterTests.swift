import Foundation
import Glibc
import SettingsCluster
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Several daemons that share a log in etcd, as their clients see them. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct ClusterTests {
    private let etcd: EtcdCluster

    init() throws {
        etcd = try EtcdCluster()
    }

    private func daemon(
        in directory: TemporaryDirectory? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> TestDaemon {
        try TestDaemon(in: directory ?? TemporaryDirectory()) { configuration in
            configuration.etcd.endpoints = etcd.endpoints.compactMap { EtcdEndpoint($0) }
            configure(&configuration)
        }
    }

    @Test("A write to one daemon can be read, watched and guarded at another daemon, with the same cursors")
    func shared() throws {
        let (one, other) = (try daemon(), try daemon())
        let written = try one.sendOK("PUT app/keys/a 1")
        let cursor = try #require(written.field("Settings-Cursor"))
        let read = try other.sendOK(Request("GET app/keys/a", "Settings-At-Least: \(cursor)"))
        #expect(read.json?["value"] == 1)
        #expect(read.field("ETag") == written.field("ETag"))
        try one.sendOK("PUT app/keys/a 2")
        let fresh = try other.sendOK(Request("GET app/keys/a", "Settings-Fresh: true"))
        #expect(fresh.json?["value"] == 2)
        #expect(fresh.field("Settings-Stale") == nil)

        let watcher = try other.connect()
        try watcher.send(Request("GET app/observe?since=\(cursor)&wait=60").bytes)
        let changes = try watcher.readResponse()
        #expect(changes.json?["changes"]?.array?.count == 1, "\(changes.text)")
        try watcher.send(Request("GET app/observe?since=\(try #require(fresh.field("Settings-Cursor")))&wait=60").bytes)
        try one.sendOK("PUT app/keys/b true")
        #expect(try watcher.readResponse().json?["changes"]?.array?.first?["key"] == "b")

        #expect(try other.send(Request("PUT app/keys/b false", "If-None-Match: *")).status == 412)
        #expect(try one.send(Request("PUT app/keys/b false", "Idempotency-Key: k")).status == 200)
        #expect(try other.send(Request("PUT app/keys/b false", "Idempotency-Key: k")).json?["replayed"] == true)
        try eventually {
            let members = try one.sendOK("GET /v1/cluster").json
            return members?["daemons"] == 2 && members?["members"]?.array?.allSatisfy { $0["behind"] == 0 } ?? false
        }
    }

    @Test("Without etcd, a daemon serves its data with its age and refuses writes; it recovers when etcd returns")
    func stale() throws {
        let directory = try TemporaryDirectory()
        let one = try daemon(in: directory)
        try one.sendOK("PUT app/keys/a 1")
        try etcd.kill(0)  // Member 0, the only member.
        try eventually { try one.send("GET app/keys/a").field("Settings-Stale") != nil }
        #expect(try one.send("GET app/keys/a").json?["value"] == 1)
        let refused = try one.send("PUT app/keys/a 2")
        #expect(refused.status == 503 && refused.json?["code"] == "storage_failed")
        #expect(refused.json?["outcome"] == "not_done")
        let ready = try one.send("GET /readyz")
        #expect(ready.status == 503 && ready.text.contains("etcd does not answer"), "\(ready.text)")
        #expect(try one.send(Request("GET app/keys/a?wait=1", "Settings-Fresh: true")).json?["code"] == "behind")
        one.stop()
        let again = try daemon(in: directory)
        let first = try again.send("GET app/keys/a")
        #expect(first.json?["value"] == 1)
        // A daemon sets Settings-Stale after five seconds without etcd.
        #expect((Int(first.field("Settings-Stale") ?? "") ?? 0) >= 5, "\(first.text)")
        #expect(try again.send("GET /readyz").status == 503)

        try etcd.start(0)
        try eventually { try again.send("PUT app/keys/a 3").status == 200 }
        try eventually { try again.send("GET app/keys/a").field("Settings-Stale") == nil }
        #expect(try again.send("GET /readyz").status == 200)
    }

    @Test(
        "A daemon that was paused while etcd was compacted catches up; its watchers miss nothing or get a reset",
        arguments: [
            // The log still has the missed commits.
            (journalBytes: 1_000_000, history: 1000, isReset: false),
            // Only the snapshot has the missed commits, and its history has all of them.
            (journalBytes: 4096, history: 1000, isReset: false),
            // Only the snapshot has the missed commits, and its history has only some of them.
            (journalBytes: 4096, history: 3, isReset: true),
        ])
    func compacted(journalBytes: Int, history: Int, isReset: Bool) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(
            "settingsd.json",
            #"{"snapshot":{"journalBytes":\#(journalBytes)},"history":{"commits":\#(history)}}"#)
        func daemon(_ name: String) throws -> TestDaemon {
            try TestDaemon(
                ownProcessIn: directory, data: directory.path + "/" + name,
                options: ["--etcd.endpoints", etcd.endpoints[0], "--config", file])
        }
        let (one, paused) = (try daemon("one"), try daemon("paused"))
        let start = try #require(try one.sendOK("PUT app/keys/a 0").field("Settings-Cursor"))
        try paused.sendOK(Request("GET app/keys/a", "Settings-At-Least: \(start)"))
        let watcher = try paused.connect()
        try watcher.send(Request("GET app/observe?since=\(start)&wait=60").bytes)
        paused.process?.signal(SIGSTOP)
        var cursors: [String] = []
        let text = String(repeating: "x", count: 1000)
        func write() throws {
            let answer = try one.sendOK(Request("PUT app/keys/a \"\(cursors.count)\(text)\""))
            cursors.append(try #require(answer.field("Settings-Cursor")))
        }
        for _ in 0..<20 { try write() }
        if journalBytes < 10_000 {
            // Writes until the log no longer has batch 5, which is one of the batches that the paused daemon missed.
            try eventually {
                try write()
                return try firstBatch() > 5
            }
        }
        let status = try JSONValue(parsing: etcd.call("maintenance/status", "{}").body)
        let revision = try #require(status["header"]?["revision"]?.string)
        #expect(try etcd.call("kv/compaction", #"{"revision":"\#(revision)","physical":true}"#).status == 200)
        paused.process?.signal(SIGCONT)

        var (revisions, reached, wasReset) = ([String](), start, false)
        let last = try #require(cursors.last)
        while reached != last {
            let answer = try watcher.readResponse()
            let json = try #require(answer.json)
            if json["reset"] == true { wasReset = true }
            for change in json["changes"]?.array ?? [] {
                revisions.append(try #require(change["revision"]?.integer).description)
            }
            reached = try #require(json["cursor"]?.string)
            try watcher.send(Request("GET app/observe?since=\(reached)&wait=60").bytes)
        }
        #expect(wasReset == isReset)
        if !isReset { #expect(revisions == cursors.map { String($0.split(separator: ".")[1]) }) }
        #expect(try paused.sendOK("GET app/keys/a").body == one.sendOK("GET app/keys/a").body)
        // The resumed daemon also accepts writes again.
        try paused.sendOK("PUT app/keys/a 1")
    }

    @Test("Three daemons carry out a pending action once, also if the daemon that accepted the write was killed")
    func pendingActions() throws {
        let directory = try TemporaryDirectory()
        let options = ["--etcd.endpoints", etcd.endpoints.joined(separator: ",")]
        let daemons = try ["a", "b", "c"].map { name in
            try TestDaemon(ownProcessIn: directory, data: directory.path + "/" + name, options: options)
        }
        let (accepting, others) = (daemons[0], daemons[1...])
        try accepting.sendOK("PUT app/keys/pool 10")
        try accepting.sendOK("PUT app/keys/count 0")
        var ids: [String] = []
        for request in [
            Request("PUT app/keys/pool 200", "Settings-Confirm: 2"),
            Request(#"PATCH app/keys/count {"op":"add","by":1}"#, "Settings-Effective: 2s"),
            Request("PUT app/keys/banner 1", "Settings-Effective: 1s", "Settings-Until: 1s"),
        ] { ids.append(try #require(try accepting.sendOK(request).json?["pending"]?["id"]?.string)) }
        let cursor = try #require(try accepting.send("GET app/keys/pool").field("Settings-Cursor"))
        try accepting.kill()
        for daemon in others {
            let listing = Request("GET /v1/pending", "Settings-At-Least: \(cursor)")
            #expect(try daemon.send(listing).json?["pending"]?.array?.isEmpty == false)
        }
        for daemon in others {
            for id in ids { try eventually { try daemon.send(Request("GET /v1/pending/\(id)")).status == 410 } }
            #expect(try daemon.send("GET app?view=stored").json?["values"] == ["count": 1, "pool": 10])
            let commits = try daemon.send("GET app/history").json?["commits"]?.array ?? []
            let events = commits.flatMap { $0["pending"]?.array ?? [] }.map { event in
                "\(event["id"]?.string ?? "") \(event["event"]?.string ?? "")"
            }
            // A commit that creates a scheduled write changes no setting, so the history of `app` does not have it.
            // `moved`: the daemon has carried out the write, and the action now waits to revert it.
            let expected = [
                "\(ids[0]) created", "\(ids[0]) reverted", "\(ids[1]) carried_out", "\(ids[2]) moved",
                "\(ids[2]) reverted",
            ]
            #expect(events.sorted() == expected.sorted(), "\(events)")
        }
        // The two remaining daemons together carried out two scheduled writes and two reverts.
        let counts = try others.map { daemon in
            let line = try daemon.send("GET /metrics").text.split(separator: "\n")
                .first { $0.hasPrefix("settingsd_pending_carried_out_total ") }
            return Int(line?.split(separator: " ").last ?? "") ?? -1
        }
        #expect(counts.reduce(0, +) == 4, "\(counts)")
        for daemon in others { daemon.stop() }
    }

    @Test("Each of three daemons answers for the clients of all three, also after a daemon was killed")
    func clients() throws {
        let directory = try TemporaryDirectory()
        let options = ["--etcd.endpoints", etcd.endpoints.joined(separator: ",")]
        let daemons = try ["a", "b", "c"].map { name in
            try TestDaemon(ownProcessIn: directory, data: directory.path + "/" + name, options: options)
        }
        let cursor = try daemons[0].sendOK("PUT app/keys/pool 10").cursorText
        for (daemon, name) in zip(daemons, ["web-1", "web-2", "web-3"]) {
            try daemon.sendOK(
                Request(#"PUT app/clients/\#(name) {"applied":"\#(cursor)"}"#, "Settings-At-Least: \(cursor)"))
        }
        for daemon in daemons {
            try eventually { try daemon.clientStates() == "web-1:current web-2:current web-3:current" }
        }
        // `sources` lists the other daemons. A client that reports to the asked daemon itself has no member `daemon`.
        let listing = try daemons[0].send("GET app/clients").json
        #expect(listing?["sources"]?.array?.count == 2, "\(listing ?? .null)")
        for source in listing?["sources"]?.array ?? [] { #expect(source["ageMs"]?.integer.map { $0 < 5000 } ?? false) }
        #expect(try daemons[0].clients()["web-1"]?["daemon"] == nil)
        let sources = listing?["sources"]?.array?.compactMap { $0["daemon"]?.string } ?? []
        #expect(sources.contains(try daemons[0].clients()["web-2"]?["daemon"]?.string ?? ""))

        // A wait at one daemon ends with the reports to the other daemons.
        let next = try daemons[1].sendOK("PUT app/keys/pool 20").cursorText
        let wait = try daemons[0].connect()
        try wait.send(Request("GET app/clients?for=\(next)&wait=60", "Settings-At-Least: \(next)").bytes)
        for (daemon, name) in zip(daemons, ["web-1", "web-2", "web-3"]) {
            try daemon.sendOK(
                Request(#"PUT app/clients/\#(name) {"applied":"\#(next)"}"#, "Settings-At-Least: \(next)"))
        }
        let converged = try wait.readResponse().json
        #expect(converged?["converged"] == true && converged?["applied"] == 3, "\(converged ?? .null)")

        try daemons[2].kill()
        // The client `web-3` of the killed daemon still counts, and then reports to another daemon.
        let last = try daemons[1].sendOK("PUT app/keys/pool 30").cursorText
        try eventually { try daemons[0].clientStates() == "web-1:behind web-2:behind web-3:behind" }
        try daemons[1].sendOK(Request(#"PUT app/clients/web-3 {"applied":"\#(last)"}"#))
        try eventually { try daemons[0].clientStates() == "web-1:behind web-2:behind web-3:current" }
        for daemon in daemons[..<2] { daemon.stop() }
    }

    @Test("A reload of clients.forgetSeconds applies to the clients of a daemon that was killed")
    func forgetSeconds() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("settingsd.json", "{}")
        let options = ["--etcd.endpoints", etcd.endpoints.joined(separator: ","), "--config", file]
        let daemons = try ["a", "b"].map { name in
            try TestDaemon(ownProcessIn: directory, data: directory.path + "/" + name, options: options)
        }
        let cursor = try daemons[0].sendOK("PUT app/keys/pool 10").cursorText
        try daemons[1].sendOK(Request(#"PUT app/clients/web {"applied":"\#(cursor)"}"#, "Settings-At-Least: \(cursor)"))
        try eventually { try daemons[0].clientStates() == "web:current" }
        let start = ContinuousClock.now
        try daemons[1].kill()
        _ = try directory.file("settingsd.json", #"{"clients":{"forgetSeconds":1}}"#)
        #expect(try daemons[0].sendOK("POST /v1/reload").json?["needsRestart"] == [])
        try eventually { try daemons[0].clientStates() == "" }
        // With the default of 90 seconds, the client would be removed later.
        #expect(ContinuousClock.now - start < .seconds(60))
        daemons[0].stop()
    }

    /// The number of the first batch in the log.
    private func firstBatch() throws -> Int {
        // The keys are "settingsd/log/" and "settingsd/log0" in Base64.
        let range = #"{"key":"c2V0dGluZ3NkL2xvZy8=","range_end":"c2V0dGluZ3NkL2xvZzA=","limit":"1","keys_only":true}"#
        let answer = try JSONValue(parsing: etcd.call("kv/range", range).body)
        let encoded = answer["kvs"]?.array?.first?["key"]?.string
        // The key ends with the number of the batch in 16 hexadecimal digits.
        let key = try #require(encoded.flatMap { Data(base64Encoded: $0) })
        return try #require(Int(String(decoding: key, as: UTF8.self).suffix(16), radix: 16))
    }

    @Test("The data of a daemon can be moved to etcd and back with its epoch and revisions")
    func moves() throws {
        let directory = try TemporaryDirectory()
        let alone = try TestDaemon(ownProcessIn: directory, data: directory.path + "/alone")
        for value in 1...3 { try alone.sendOK(Request("PUT app/keys/a \(value)")) }
        let before = try alone.send("GET app/keys/a")
        alone.stop()
        let endpoint = etcd.endpoints[0]
        /// Runs `settingsd cluster` with these arguments.
        func cluster(_ words: String...) throws -> ChildProcess.End {
            try ChildProcess.run(["cluster"] + words + ["--etcd.endpoints", endpoint, "--etcd.prefix", "p"])
        }
        // Exit codes: 68: no commit log in etcd; 64: a refused command; 73: the directory cannot be used.
        #expect(try cluster("status").code == 68)
        let imported = try cluster("import", directory.path + "/alone")
        #expect(imported.code == 0, "\(imported)")
        #expect(try cluster("import", directory.path + "/alone").code == 64)
        let options = ["--etcd.endpoints", endpoint, "--etcd.prefix", "p"]
        let shared = try TestDaemon(ownProcessIn: directory, data: directory.path + "/shared", options: options)
        let there = try shared.send("GET app/keys/a")
        #expect(there.body == before.body)
        #expect(there.field("Settings-Cursor") == before.field("Settings-Cursor"))
        let last = try shared.sendOK("PUT app/keys/a 4")
        try eventually { try cluster("status").output.contains("daemons: 1") }
        #expect(try cluster("export", directory.path + "/back").errors.contains("daemons still follow"))
        let withEtcd = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", directory.path + "/alone"] + options)
        #expect(withEtcd.code == 73 && withEtcd.errors.contains("without etcd"), "\(withEtcd.errors)")
        shared.stop()
        let withoutEtcd = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", directory.path + "/shared"])
        #expect(withoutEtcd.code == 73 && withoutEtcd.errors.contains("copy of a log in etcd"), "\(withoutEtcd.errors)")
        let copy = try ChildProcess.run(["check", directory.path + "/shared"])
        #expect(copy.code == 0 && copy.output.contains("CLUSTER: a copy of the data in etcd"), "\(copy)")
        let repair = try ChildProcess.run(["repair", directory.path + "/shared", "--yes"])
        #expect(repair.code == 64 && repair.errors.contains("a copy of a log in etcd"), "\(repair)")
        if getuid() == 0 {
            // The exported files must belong to the owner of the directory, also if root runs the command.
            #expect(chmod(directory.path, 0o711) == 0)
            #expect(mkdir(directory.path + "/back", 0o700) == 0 && chown(directory.path + "/back", 1, 1) == 0)
        }
        try eventually { try cluster("export", directory.path + "/back").code == 0 }
        if getuid() == 0 {
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path + "/back") {
                let file = try FileManager.default.attributesOfItem(atPath: directory.path + "/back/" + name)
                #expect(file[.ownerAccountID] as? Int == 1, "\(name)")
            }
        }
        // No daemon has used the exported data yet.
        let exported = try ChildProcess.run(["check", directory.path + "/back"])
        #expect(exported.code == 0 && exported.output.contains("never run here"), "\(exported)")
        let back = try TestDaemon(ownProcessIn: directory, data: directory.path + "/back")
        #expect(try back.send("GET app/keys/a").json?["value"] == 4)
        #expect(try back.send("GET app/keys/a").field("Settings-Cursor") == last.field("Settings-Cursor"))
        // A new epoch skips 1,000,000,000 revisions; the last digits are not compared.
        let epoch = try cluster("new-epoch")
        #expect(epoch.code == 0 && epoch.output.contains("begins at revision 100000000"), "\(epoch)")
    }
}
