import ClientTestSupport
import Dispatch
import Glibc
import HTTPWire
import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of deadlines, of cancellation, and of connections and threads that must not leak.
@Suite(.ownThread)
struct WaitingTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// A server that reads requests, never answers, and logs when the client closes the connection.
    private func silentServer() throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            guard peer.readRequest() != nil else { return }
            log.add("request")
            if peer.read() == nil { log.add("closed") }
        }
    }

    @Test("A request ends at its deadline, and the error says whether the daemon may have stored a change")
    func deadline()
        async throws
    {
        let server = try silentServer()
        let client = server.client(timeout: .milliseconds(50))
        let readError = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        #expect(readError == .timeout(outcome: .notDone).withAddress(client.address))
        let writeError = #expect(throws: SettingsError.self) { try client.blocking.send(.reset(names.app)) }
        #expect(writeError == .timeout(outcome: .unknown).withAddress(client.address))
        let asyncWriteError = await #expect(throws: SettingsError.self) { try await client.send(.reset(names.app)) }
        #expect(asyncWriteError == .timeout(outcome: .unknown).withAddress(client.address))
        #expect(
            asyncWriteError?.description
                == "\(server.address): the daemon did not answer in time; the daemon may have done the write: read the value before you repeat the write"
        )
        #expect(await server.log.waits(for: "closed", times: 3))
    }

    @Test("The wait of a watch request extends the timeout of the request")
    func waitExtendsTimeout() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().withTimeout(.milliseconds(900)).blocking
        let revision = try client.send(.set(names.theme, to: 1, in: names.app)).revision
        #expect(try client.send(.setting(names.theme, in: names.app, changedFrom: revision, wait: .seconds(1))) == nil)
    }

    @Test("The deadline of a watch request is extended by the wait of the request, rounded up to whole seconds")
    func roundedWait() throws {
        let client = DaemonClient(timeout: .milliseconds(300))
        let revision = Revision.zero
        let before = ContinuousClock.now
        for (wait, roundedSeconds) in [
            (Duration.milliseconds(500), 1), (.milliseconds(1001), 2), (.seconds(2), 2), (.zero, 0),
        ] {
            let endpoint = Endpoint.setting(names.theme, in: names.app, changedFrom: revision, wait: wait)
            let deadline = client.deadline(of: endpoint)
            let time = Duration.seconds(roundedSeconds) + .milliseconds(300)
            #expect(deadline >= before + time && deadline <= .now + time)
        }
    }

    @Test("A server that sends without end does not delay a request beyond its deadline") func endlessAnswer()
        async throws
    {
        // The size of a chunk is hexadecimal: `10000` means 65536 bytes.
        let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0x20, count: 65536) + Array("\r\n".utf8)
        let server = try ScriptedServer { _, peer, log in
            guard peer.readRequest() != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            // The server sends more than the client can read before the deadline, but less than the limit at which the
            // client refuses the answer.
            for _ in 0..<10_000 where !peer.send(chunk) { return }
        }
        let client = server.client(timeout: .milliseconds(20))
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        #expect(error == .timeout(outcome: .notDone).withAddress(client.address))
        let asyncError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(asyncError == .timeout(outcome: .notDone).withAddress(client.address))
    }

    @Test("An exchange reads a bounded number of buffers per call of advance") func boundedReads() throws {
        let server = try ScriptedServer { _, peer, _ in
            if peer.readRequest() != nil { peer.send(ScriptedServer.service) }
        }
        let exchange = Exchange(Request(.get, RequestTarget("v1")), ConnectionPool(server.address))
        // A buffer of one byte makes a short answer behave like a long stream.
        let oneByteBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        defer { oneByteBuffer.deallocate() }
        var waitCount = 0
        while true {
            switch exchange.advance(oneByteBuffer) {
            case .waiting(let wait):
                waitCount += 1
                guard PollSet.wait(for: wait.events, on: wait.descriptor, until: .now + .seconds(10)) else {
                    Issue.record("no data arrived within 10 seconds")
                    return
                }
                continue
            case .readingToken, .lookingUp: Issue.record("a Unix socket needs neither a token nor a lookup")
            case .finished(let result): #expect(try result.get().status == 200)
            }
            break
        }
        // One call of `advance` reads at most 16 buffers.
        #expect(waitCount >= ScriptedServer.service.utf8.count / 16)
    }

    @Test("The request of a cancelled task ends at once, and a task that was cancelled before sends no request")
    func cancelledTask() async throws {
        let server = try silentServer()
        // All other tests may run between the request and its cancellation, so the timeout is long.
        let client = server.client(timeout: .seconds(600))
        let names = names
        let task = Task(priority: .high) { () -> SettingsError? in
            do throws(SettingsError) {
                try await client.send(.reset(names.app))
                return nil
            } catch {
                return error
            }
        }
        #expect(await server.log.waits(for: "request"))
        task.cancel()
        #expect(await task.value == .cancelled(outcome: .unknown))
        #expect(await server.log.waits(for: "closed"))
        let cancelledBefore = Task { () -> SettingsError? in
            while !Task.isCancelled { await Task.yield() }
            do throws(SettingsError) {
                try await client.send(.reset(names.app))
                return nil
            } catch {
                return error
            }
        }
        cancelledBefore.cancel()
        #expect(await cancelledBefore.value == .cancelled(outcome: .notDone))
        #expect(server.log.count("connection") == 1)
    }

    @Test("Many requests share one thread, which ends when no request waits") func sharedThread() throws {
        let server = try silentServer()
        // The thread of this reader ends as soon as no request waits.
        let reader = AnswerReader(idleLimit: .zero)
        let pool = ConnectionPool(server.address)
        let log = EventLog()
        let requests = (0..<100).map { _ in
            AsyncRequest(Request(.get, RequestTarget("v1")), pool, by: .now + .seconds(60), reader: reader)
        }
        for request in requests {
            request.start { result in
                if case .failure(.cancelled(outcome: .notDone)) = result { log.add("cancelled") }
            }
        }
        #expect(server.log.wait(for: "request", times: 100))
        #expect(reader.isRunning)
        for request in requests { request.cancel() }
        #expect(log.wait(for: "cancelled", times: 100))
        #expect(server.log.wait(for: "closed", times: 100))
        while reader.isRunning { sched_yield() }
        // The next request starts another thread. Its deadline has already passed.
        let lateRequest = AsyncRequest(Request(.get, RequestTarget("v1")), pool, by: .now, reader: reader)
        lateRequest.start { result in
            if case .failure(.timedOut(_, outcome: .notDone)) = result { log.add("timed out") }
        }
        #expect(log.wait(for: "timed out"))
        while reader.isRunning { sched_yield() }
    }

    @Test("An idle connection is closed after its idle timeout") func idleTimeout() throws {
        let server = try ScriptedServer { _, peer, log in
            while peer.readRequest() != nil { peer.send(ScriptedServer.service) }
            log.add("closed")
        }
        let client = DaemonClient(
            ConnectionPool(server.address, idleLimit: .milliseconds(10)), timeout: .seconds(10))
        _ = try client.blocking.send(.service)
        #expect(server.log.wait(for: "closed"))
        #expect(client.pool.idleCount == 0)
        _ = try client.blocking.send(.service)
        #expect(server.log.wait(for: "closed", times: 2))
    }

    @Test("A thousand released clients leave no connection and no thread") func releasedClients()
        async throws
    {
        let server = try ScriptedServer { _, peer, log in
            while peer.readRequest() != nil { peer.send(ScriptedServer.service) }
            log.add("closed")
        }
        let reader = AnswerReader(idleLimit: .zero)
        for number in 0..<1000 {
            let client = DaemonClient(ConnectionPool(server.address), timeout: .seconds(10), reader: reader)
            if number % 2 == 0 {
                _ = try client.blocking.send(.service)
            } else {
                _ = try await client.send(.service)
            }
        }
        #expect(await server.log.waits(for: "closed", times: 1000))
        #expect(server.log.count("connection") == 1000)
        while reader.isRunning { await Task.yield() }
    }
}
