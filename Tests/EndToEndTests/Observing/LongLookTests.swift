import SettingsModel
import TestSupport
import Testing

/// Watchers for whom so much has to be gone through that it is done beside the loop.
@Suite(.ownThread)
struct LongLookTests {
    @Test("Who goes, or says that it is done, while it is looked for what to tell, waits for nothing")
    func leaving() throws {
        let daemon = try TestDaemon()
        let writer = try daemon.connect()
        for batch in 0..<50 {
            let writes = (0..<100).map { Request("PUT app/keys/a \(batch * 100 + $0)").bytes }
            try writer.send(Array(writes.joined()))
            for _ in writes { #expect(try writer.readResponse().status < 300) }
        }
        let question = Request("GET app/observe?since=1&key=b&wait=300").bytes
        for _ in 0..<20 {
            let client = try daemon.connect()
            try client.send(question)
            client.reset()
        }
        for _ in 0..<5 {
            let client = try daemon.connect()
            try client.send(question)
            client.endSending()
            #expect(try client.readResponse().json?["changes"] == [])
        }
        try daemon.awaitWatchers(0)
        let client = try daemon.connect()
        try client.send(question)
        try daemon.awaitWatchers(1)
        try daemon.done("PUT app/keys/b 1")
        #expect(try client.readResponse().json?["changes"]?.array?.count == 1)
    }
}
