import Dispatch
import HTTPWire
import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

@Suite("Long answers")
struct LongAnswersTests {
    @Test("Each is made in its turn, save those whose callers are gone; beyond the bound there is no room")
    func bound() {
        let (answers, log, gate) = (LongAnswers(), EventLog(), DispatchSemaphore(value: 0))
        answers.make(nil) { gate.wait() }
        let wishes = (1..<LongAnswers.most).map { number in
            let wish = LongAnswers.Wish()
            answers.make(wish) { log.add("\(number)") }
            return wish
        }
        #expect(answers.isFull)
        for (position, wish) in wishes.enumerated() where position % 2 == 1 { wish.end() }
        answers.make(nil) { log.add("last") }
        gate.signal()
        #expect(log.wait(for: "last"))
        let wanted = stride(from: 1, to: LongAnswers.most, by: 2).map(String.init)
        #expect(log.all == wanted + ["last"])
        #expect(!answers.isFull)
    }

    @Test("Who asks while too many wait is told to come back")
    func gone() throws {
        let server = try APIServer()
        let members = (0...Rendering.mostOnLoop).map { #""key\#($0)":1"# }.joined(separator: ",")
        let writer = try server.connect()
        #expect(try writer.exchange(LargeBodyTests.patch("app", "{\(members)}")).status < 300)
        let gate = DispatchSemaphore(value: 0)
        let answers = server.longAnswers
        answers.make(nil) { gate.wait() }
        let leaving = try server.connect()
        try leaving.send(LargeBodyTests.get("app"))
        let staying = try server.connect()
        try staying.send(LargeBodyTests.get("app"))
        while answers.waiting < 3 { server.settle() }
        leaving.reset()
        while answers.waiting < LongAnswers.most { answers.make(nil) {} }
        let refused = try writer.exchange(LargeBodyTests.get("app"))
        #expect(refused.status == 503 && refused.text.contains("\"overloaded\""))
        #expect(refused.field("Retry-After") == "1")
        #expect(try writer.exchange(LargeBodyTests.get("app/keys/key1")).status == 200)
        gate.signal()
        let whole = try JSONValue(parsing: staying.readResponse().text)
        #expect(whole["values"]?.object?.count == Rendering.mostOnLoop + 1)
        #expect(try writer.exchange(LargeBodyTests.get("app")).status == 200)
    }
}
