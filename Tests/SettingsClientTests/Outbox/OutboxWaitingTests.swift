import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct OutboxWaitingTests {
    private let world: KeptWorld

    init() throws {
        world = try KeptWorld()
    }

    /// Those that send everything.
    enum Sender: CaseIterable, Sendable {
        case synchronize, publishSchema
    }

    @Test("A setter waits no longer than it may, and its write is sent with the others", arguments: Sender.allCases)
    func waiting(for sender: Sender) throws {
        let program = world.program(patience: .milliseconds(50))
        let (defaults, link) = (program.defaults, program.link)
        defaults.launchCount = 1
        link.leave()
        for number in 2...9 { defaults.launchCount = number }
        let log = EventLog()
        // Lets one request through, so that the server counts as up.
        let gate = DispatchSemaphore(value: 1)
        link.decide {
            log.add("asked")
            gate.wait()
            return .answered
        }
        link.comeBack()
        DispatchQueue(label: "sending").async {
            switch sender {
            case .synchronize: try? defaults.core.synchronize()
            case .publishSchema: try? defaults.core.session.sendKept()
            }
            log.add("all is sent")
        }
        #expect(log.wait(for: "asked", times: 2))
        DispatchQueue(label: "writing").async {
            defaults.loginTries = 5
            log.add("written")
        }
        #expect(log.wait(for: "written"))
        #expect(log.count("all is sent") == 0 && defaults.loginTries == 5)
        for _ in 0..<1000 { gate.signal() }
        #expect(log.wait(for: "all is sent"))
        #expect(link.log.wait { $0.count { !$0.hasPrefix("!") } == 10 })
        #expect(world["launchCount"] == 9 && world["loginTries"] == 5 && world.takeIssues() == [])
    }
}
