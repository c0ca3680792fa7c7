import Dispatch
import TestSupport
import Testing

@testable import SettingsServer

@Suite(.ownThread)
struct SharedAnswerTests {
    static let targets = ["?at=1", "/keys?at=1", "/history?key=a", "/diff?from=1"]

    @Test("Callers that ask the same of the past share one answer", arguments: targets)
    func shared(target: String) throws {
        let server = try APIServer()
        let first = try server.connect()
        for value in 1...2 {
            try first.send("PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n\(value)")
            #expect(try first.readResponse().status < 300)
        }
        let gate = DispatchSemaphore(value: 0)
        server.renderer.run(BackgroundQueue.Job { _ in gate.patientWait() })
        // Once that runs, none waits.
        while server.renderer.count > 0 { server.settle() }
        let paths = [target, target, "/diff?from=0"]
        let clients = try paths.map { path in
            let client = try server.connect()
            try client.send("GET /v1/suites/app\(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client
        }
        while server.renderer.count < 2 { server.settle() }
        server.settle()
        #expect(server.renderer.count == 2)
        gate.signal()
        let answers = try clients.map { try $0.readResponse() }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(answers[0].body == answers[1].body && answers[0].body != answers[2].body)
    }
}
