import Dispatch
import SettingsAPI
import SettingsEngine
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsWeb

@Suite(.ownThread)
struct SharedAnswerTests {
    /// The ends of paths below `/v1/suites/app` whose answers the daemon always renders in the background.
    static let targets = ["?at=1", "/keys?at=1", "/history?key=a", "/diff?from=1"]

    @Test("Requests with the same path and query share one rendered answer", arguments: targets)
    func shared(target: String) throws {
        let server = try APIServer()
        let first = try server.connect()
        for value in 1...2 {
            try first.send("PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n\(value)")
            #expect(try first.readResponse().status < 300)
        }
        let gate = DispatchSemaphore(value: 0)
        server.renderingScheduler.submit(WorkScheduler.Work { _ in gate.patientWait() })
        // Waits until the job runs: a running job does not count as queued.
        try server.awaitQueuedJobs(0)
        // Two equal requests share a job, and the third request has another job.
        let paths = [target, target, "/diff?from=0"]
        let clients = try paths.map { path in
            let client = try server.connect()
            try client.send("GET /v1/suites/app\(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client
        }
        try server.awaitQueuedJobs(2)
        server.awaitPublication()
        #expect(server.renderingScheduler.count == 2)
        gate.signal()
        let answers = try clients.map { try $0.readResponse() }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(answers[0].body == answers[1].body && answers[0].body != answers[2].body)
    }

    @Test(
        "An answer that waits for rendering retains no evicted commits, and shows the state at the time of rendering")
    func evictedCommits() throws {
        var limits = History.Limits()
        // The history has room for about 70 of the values below.
        (limits.bytes, limits.suiteCommits) = (4 << 20, 0)
        let server = try APIServer(history: limits)
        let writer = try server.connect()
        func put(_ numbers: ClosedRange<Int>) throws {
            for number in numbers {
                let text = "\"\(number) \(String(repeating: "a", count: 60_000))\""
                let head = "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(text.utf8.count)"
                try writer.send("\(head)\r\n\r\n\(text)")
                #expect(try writer.readResponse().status < 300)
            }
        }
        try put(1...20)
        let gate = DispatchSemaphore(value: 0)
        server.renderingScheduler.submit(WorkScheduler.Work { _ in gate.patientWait() })
        // Waits until the job runs.
        try server.awaitQueuedJobs(0)
        let observer = try server.connect()
        try observer.send("GET /v1/suites/app/observe?since=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try server.awaitQueuedJobs(1)
        // An answer to `since=1` begins with the commit 2, until the history evicts this commit.
        weak let evictedCommit = server.store.state.history.commit(try #require(Revision(2)))
        #expect(evictedCommit != nil)
        try put(21...100)
        try eventually {
            server.awaitPublication()
            return evictedCommit == nil
        }
        gate.signal()
        let answer = try observer.readResponse()
        #expect(answer.status == 200)
        #expect(answer.text.contains(#""reset":true"#) && answer.text.contains(#"{"a":"100 aaa"#))
    }
}
