import Glibc
import Platform
import SettingsAPI
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// What operators of etcd do to it under a daemon.
@Suite(.ownThread)
struct EtcdOperationTests {
    private func done(_ etcd: EtcdCluster, _ path: String, _ body: String) throws {
        let answer = try etcd.call(path, body)
        try #require(answer.status == 200, "\(path): \(answer.text)")
    }

    @Test("A daemon logs in with the password of its file, and again when a member forgot its token")
    func password() throws {
        let etcd = try EtcdCluster()
        let directory = try TemporaryDirectory()
        // Base64 of settingsd/ and of settingsd0.
        let permission = #"{"permType":"READWRITE","key":"c2V0dGluZ3NkLw==","range_end":"c2V0dGluZ3NkMA=="}"#
        try etcd.awaitStart()
        for name in ["root", "daemon"] {
            try done(etcd, "auth/user/add", #"{"name":"\#(name)","password":"pass:word"}"#)
            try done(etcd, "auth/role/add", #"{"name":"\#(name)"}"#)
            try done(etcd, "auth/user/grant", #"{"user":"\#(name)","role":"\#(name)"}"#)
        }
        try done(etcd, "auth/role/grant", #"{"name":"daemon","perm":\#(permission)}"#)
        try done(etcd, "auth/enable", "{}")
        let file = try directory.file("password", "daemon:pass:word\n")
        #expect(chmod(file, 0o600) == 0)
        let node = try ClusterNode(etcd.endpoints, in: TemporaryDirectory()) { $0.etcd.passwordFile = file }
        #expect(try node.write(.set(1), to: "a").problem == nil)
        try etcd.kill(0)
        try etcd.start(0)
        try eventually { try node.write(.set(2), to: "a").problem == nil }
        try eventually { node.log.health == nil && node.log.silence == nil }
    }

    @Test("Writes that etcd has no space for are 507 and not done, and reads go on")
    func noSpace() throws {
        let etcd = try EtcdCluster(options: ["--quota-backend-bytes", "8388608"])
        let node = try ClusterNode(etcd.endpoints, in: TemporaryDirectory())
        var last: Int64 = 0
        var problem: Problem?
        while problem == nil {
            last += 1
            let text = "\(last)" + String(repeating: "x", count: 500_000)
            problem = try node.write(.set(.string(text)), to: "a").problem
            try #require(last < 100)
        }
        #expect(problem?.code == .insufficientStorage && problem?.outcome == .notDone, "\(String(describing: problem))")
        #expect(try node.value("a")?.string?.hasPrefix("\(last - 1)x") ?? false)
        #expect(node.log.health != nil)
    }
}
