import SettingsAPI
import SettingsEngine
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsCluster

struct LogCacheTests {
    @Test("A directory without a copy is reused, also for another log, and nothing is set aside")
    func withoutCopy() throws {
        let folder = try TemporaryDirectory()
        let directory = DataDirectory(folder.path)
        let said = EventLog()
        let log = Log(level: .info, clock: { Timestamp(milliseconds: 1000) }, write: { said.add($0) })
        for prefix in ["one", "one", "two"] {
            let (cache, found) = try LogCache.open(directory, prefix: prefix, limits: History.Limits(), log: log)
            #expect(found == nil)
            cache.release()
            let check = try #require(try LogCache.check(directory))
            #expect(check.isSound && check.lines == ["this directory contains no copy of the data in etcd yet"])
        }
        #expect(said.all.isEmpty, "\(said.all)")
    }
}
