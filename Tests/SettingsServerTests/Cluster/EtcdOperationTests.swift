import Glibc
import Platform
import SettingsAPI
import SettingsCluster
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// Operations that an administrator performs on etcd while a daemon uses it.
@Suite(.ownThread)
struct EtcdOperationTests {
    /// Calls etcd, and requires the status 200.
    private func requireSuccess(_ etcd: EtcdCluster, _ path: String, _ body: String) throws {
        let answer = try etcd.call(path, body)
        try #require(answer.status == 200, "\(path): \(answer.text)")
    }

    @Test("A daemon authenticates with the password in its file, and again after a member has lost the session token")
    func password() throws {
        let etcd = try EtcdCluster()
        let directory = try TemporaryDirectory()
        // The range of keys from `settingsd/` to before `settingsd0`: all keys that begin with `settingsd/`.
        let permission = #"{"permType":"READWRITE","key":"c2V0dGluZ3NkLw==","range_end":"c2V0dGluZ3NkMA=="}"#
        try etcd.awaitStart()
        for name in ["root", "daemon"] {
            try requireSuccess(etcd, "auth/user/add", #"{"name":"\#(name)","password":"pass:word"}"#)
            try requireSuccess(etcd, "auth/role/add", #"{"name":"\#(name)"}"#)
            try requireSuccess(etcd, "auth/user/grant", #"{"user":"\#(name)","role":"\#(name)"}"#)
        }
        try requireSuccess(etcd, "auth/role/grant", #"{"name":"daemon","perm":\#(permission)}"#)
        try requireSuccess(etcd, "auth/enable", "{}")
        let file = try directory.file("password", "daemon:pass:word\n")
        #expect(chmod(file, 0o600) == 0)
        let node = try ClusterNode(etcd.endpoints, in: TemporaryDirectory()) { $0.etcd.passwordFile = file }
        #expect(try node.write(.set(1), to: "a").problem == nil)
        try etcd.kill(0)
        try etcd.start(0)
        try eventually { try node.write(.set(2), to: "a").problem == nil }
        try eventually { node.log.writeFailureReason == nil && node.log.staleness == nil }
    }

    @Test("While etcd has no space, writes return 507 and have no effect, and reads continue")
    func noSpace() throws {
        let etcd = try EtcdCluster(options: ["--quota-backend-bytes", "8388608"])
        let node = try ClusterNode(etcd.endpoints, in: TemporaryDirectory())
        var number: Int64 = 0
        var problem: Problem?
        while problem == nil {
            number += 1
            let text = "\(number)" + String(repeating: "x", count: 500_000)
            problem = try node.write(.set(.string(text)), to: "a").problem
            try #require(number < 100)
        }
        #expect(problem?.code == .insufficientStorage && problem?.outcome == .notDone, "\(String(describing: problem))")
        #expect(try node.value("a")?.string?.hasPrefix("\(number - 1)x") ?? false)
        // A write with a false condition only reads etcd. Reads and lease renewals succeed without space, so their
        // success must not end the refusal of writes.
        #expect(try node.write(.set(.string("small")), to: "b", guards: [.exists]).problem?.code == .preconditionFailed)
        for _ in 0..<3 {
            node.performMaintenance()
            #expect(node.log.writeFailureReason?.contains("space") ?? false)
        }

        // Frees space, as an administrator does: compaction, defragmentation, and the end of the alarm.
        let status = try JSONValue(parsing: etcd.call("maintenance/status", "{}").body)
        let revision = try #require(status["header"]?["revision"]?.string)
        try requireSuccess(etcd, "kv/compaction", #"{"revision":"\#(revision)","physical":true}"#)
        try requireSuccess(etcd, "maintenance/defragment", "{}")
        let alarms = try JSONValue(parsing: etcd.call("maintenance/alarm", #"{"action":"GET"}"#).body)
        let member = try #require(alarms["alarms"]?.array?.first?["memberID"]?.string)
        try requireSuccess(
            etcd, "maintenance/alarm", #"{"action":"DEACTIVATE","memberID":"\#(member)","alarm":"NOSPACE"}"#)
        try eventually {
            node.performMaintenance()
            return node.log.writeFailureReason == nil
        }
        #expect(try node.write(.set(1), to: "a").problem == nil)
    }

    @Test
    func `A write that took effect counts as done even if etcd's answer was a refusal for lack of space`() throws {
        let etcd = try EtcdCluster()
        try etcd.awaitStart()
        let proxy = try TCPProxy(to: etcd.ports[0])
        defer { proxy.stop() }
        let node = try ClusterNode(["http://127.0.0.1:\(proxy.port)"], in: TemporaryDirectory())
        // The proxy forwards the write to etcd, and replaces etcd's answer by this refusal.
        let refusal = #"{"error":"etcdserver: mvcc: database space exceeded","code":8}"#
        proxy.set(
            .replacingAnswers(
                toRequestsWith: ClusterNode.writeRequestText,
                with: "HTTP/1.1 429 Too Many Requests\r\nContent-Length: \(refusal.utf8.count)\r\n\r\n\(refusal)"))
        #expect(try node.write(.set(1), to: "a").problem == nil)
        #expect(proxy.replacedAnswers >= 1)
        #expect(try node.value("a") == 1)
    }

    @Test("Another etcd at the same address is detected, and its log replaces the previous log")
    func anotherCluster() throws {
        let (first, second) = (try EtcdCluster(), try EtcdCluster())
        let proxy = try TCPProxy(to: first.ports[0])
        defer { proxy.stop() }
        let messages = EventLog()
        let node = try ClusterNode(
            ["http://127.0.0.1:\(proxy.port)"], in: TemporaryDirectory(), messages: messages)
        let other = try ClusterNode(second.endpoints, in: TemporaryDirectory())
        #expect(try node.write(.set(1), to: "a").problem == nil)
        #expect(try other.write(.set(2), to: "a").problem == nil)
        proxy.redirect(to: second.ports[0])
        try eventually { try node.value("a") == 2 }
        #expect(node.store.state.cursor == other.store.state.cursor)
        #expect(messages.all.contains { $0.contains("etcd is now cluster") }, "\(messages.all)")
        try eventually { try node.write(.set(3), to: "a").problem == nil }
        try eventually { try other.value("a") == 3 }
    }
}
