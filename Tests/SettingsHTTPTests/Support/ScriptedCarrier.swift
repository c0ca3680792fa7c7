import ClientTestSupport
import HTTPWire
import SettingsModel
import Synchronization
import TestSupport

@testable import SettingsHTTP

/// A carrier that answers what a test says, each request in turn; nil, and whatever comes after the last, never.
final class ScriptedCarrier: Carrier {
    let log = EventLog()
    private let answers: Mutex<[Result<Response, CarrierFailure>?]>

    init(_ answers: [Result<Response, CarrierFailure>?]) {
        self.answers = Mutex(answers.reversed())
    }

    func carry(
        _ request: Request, to server: String,
        arrival: @escaping @Sendable (Result<Response, CarrierFailure>) -> Void
    ) -> @Sendable () -> Void {
        log.add("\(request.method.text) \(server)\(request.target.text)")
        if let answer = answers.withLock({ $0.popLast() ?? nil }) { arrival(answer) }
        return { [log] in log.add("ended") }
    }

    func pool() throws -> ConnectionPool {
        ConnectionPool(try ServerAddress("https://settings.example"), carrier: { self })
    }
}
