import ClientTestSupport
import HTTPWire
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Requests over a carrier instead of a socket: `https://`.
@Suite(.ownThread)
struct CarriedExchangeTests {
    private static let read = Request(.get, RequestTarget("v1"))
    private static let write = Request(.put, RequestTarget("v1", "suites", "app"), body: Array("{}".utf8))
    private static let namedWrite: Request = {
        var request = write
        request.fields.append("Idempotency-Key", text: "k")
        return request
    }()

    private func result(
        of request: Request, _ answers: Result<Response, CarrierFailure>?...
    ) throws -> (Result<Reply, SettingsError>, [String]) {
        let carrier = ScriptedCarrier(answers)
        let pool = try carrier.pool()
        let result = Result { () throws(SettingsError) in try pool.exchange(request, by: .now + .milliseconds(200)) }
        return (result, carrier.log.all)
    }

    @Test("An answer of the carrier is read like any other") func answerWhatCarrierBrings() throws {
        var answer = Response(status: 200, body: [1, 2])
        answer.fields.append("ETag", text: "\"1\"")
        let (result, log) = try result(of: Self.read, .success(answer))
        #expect(try result.get().response == answer)
        #expect(log == ["GET https://settings.example:443/v1"])
    }

    @Test(
        "A failure of a write is known to have done nothing, or is not",
        arguments: [
            (CarrierFailure.notSent("x"), SettingsError.unreachable("x", outcome: .notDone), 1),
            (.lost("x"), .unreachable("x", outcome: .unknown), 1),
            (.broken("x"), .unreachable("x", outcome: .unknown), 1),
            (.malformed("x"), .malformedAnswer("x", outcome: .unknown), 1),
        ])
    func failureWriteKnownHave(
        failure: CarrierFailure, error: SettingsError, count: Int
    ) throws {
        let (result, log) = try result(of: Self.write, .failure(failure), .failure(failure))
        #expect(result == .failure(error))
        #expect(log.count { $0.hasPrefix("PUT") } == count)
    }

    @Test("A repeatable request goes out once more when the connection is lost, and only once")
    func whatMayRepeatedGoes() throws {
        let answer = Response(status: 200)
        for request in [Self.read, Self.namedWrite] {
            #expect(try result(of: request, .failure(.lost("x")), .success(answer)).0.get().status == 200)
            let (result, log) = try result(of: request, .failure(.lost("x")), .failure(.lost("y")))
            #expect(result == .failure(.unreachable("y", outcome: request.isWrite ? .unknown : .notDone)))
            #expect(log.count == 2, "\(log)")
        }
    }

    @Test("A write that may have been done in the first attempt has an unknown outcome after the second")
    func whatMayHaveBeen() throws {
        let (result, _) = try result(of: Self.namedWrite, .failure(.lost("x")), .failure(.notSent("refused")))
        #expect(result == .failure(.unreachable("refused", outcome: .unknown)))
    }

    @Test("A request that takes too long is ended, and a write may have been done") func requestTakesTooLong() throws {
        let (late, log) = try result(of: Self.write, nil)
        #expect(late == .failure(.late(outcome: .unknown)))
        #expect(log.last == "ended")
        #expect(try result(of: Self.read, nil).0 == .failure(.late(outcome: .notDone)))
    }

    @Test("A cancelled long poll ends its request before its completion is called") func longPollCancelledEnded() throws
    {
        let carrier = ScriptedCarrier([])
        let poll = LongPoll(Self.write, try carrier.pool(), by: .now + .seconds(60))
        poll.start { [log = carrier.log] result in
            if case .failure(.cancelled(let outcome)) = result { log.add("cancelled, \(outcome)") }
        }
        #expect(carrier.log.wait(for: "PUT https://settings.example:443/v1/suites/app"))
        poll.cancel()
        #expect(carrier.log.wait(for: "cancelled, unknown"))
        #expect(carrier.log.all.suffix(2) == ["ended", "cancelled, unknown"])
    }

    @Test("A long poll at its deadline ends its request before its completion is called") func longPollTakesToo() throws
    {
        let carrier = ScriptedCarrier([])
        let poll = LongPoll(Self.write, try carrier.pool(), by: .now + .milliseconds(50))
        poll.start { [log = carrier.log] result in
            if case .failure(.timedOut(_, let outcome)) = result { log.add("late, \(outcome)") }
        }
        #expect(carrier.log.wait(for: "late, unknown"))
        #expect(carrier.log.all.suffix(2) == ["ended", "late, unknown"])
    }

    @Test("An answer to a repeat is known by that") func answerRepeatKnown() throws {
        let answer = Response(status: 429)
        for request in [Self.read, Self.namedWrite] {
            let reply = try result(of: request, .failure(.lost("x")), .success(answer)).0.get()
            #expect(reply.followsLostWrite == request.isWrite)
        }
    }

    @Test("A request that is to go out later is not with the carrier before") func requestGoOutLater() throws {
        let carrier = ScriptedCarrier([])
        let later = ContinuousClock.now + .seconds(1000)
        let poll = LongPoll(Self.write, try carrier.pool(), from: later, by: later)
        poll.start { [log = carrier.log] result in
            if case .failure(.cancelled(let outcome)) = result { log.add("cancelled, \(outcome)") }
        }
        poll.cancel()
        #expect(carrier.log.wait(for: "cancelled, notDone"))
        #expect(carrier.log.all.count == 1)
    }
}
