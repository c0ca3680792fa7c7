import SettingsAPI
import SettingsEngine
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsCluster

/// A `LogCache` is the data directory of a daemon whose commit log is in etcd. It contains a copy of the state.
struct LogCacheTests {
    @Test("A data directory without a copy of the state can be used for any log, and no file is renamed")
    func withoutCopy() throws {
        let folder = try TemporaryDirectory()
        let directory = DataDirectory(folder.path)
        let messages = EventLog()
        let log = Log(level: .info, clock: { Timestamp(milliseconds: 1000) }, write: { messages.add($0) })
        for prefix in ["one", "one", "two"] {
            let (cache, found) = try LogCache.open(directory, prefix: prefix, limits: History.Limits(), log: log)
            #expect(found == nil)
            cache.release()
            let check = try #require(try LogCache.check(directory))
            #expect(check.isSound && check.lines == ["this directory contains no copy of the data in etcd yet"])
        }
        // Before a daemon renames the files of a copy, it logs a warning.
        #expect(messages.all.isEmpty, "\(messages.all)")
    }
}
