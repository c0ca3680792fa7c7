import Glibc
import HTTPWire
import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of waiting for many concurrent requests.
@Suite(.ownThread)
struct WaitingExchangesTests {
    @Test("More unsent requests than the limit of descriptors wait without descriptors; the wait does not end early")
    func moreRequestsThanDescriptors() async {
        await #expect(processExitsWith: .success) {
            // Each failure has its own exit code.
            var limit = rlimit()
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            getrlimit(files, &limit)
            limit.rlim_cur = 64
            guard setrlimit(files, &limit) == 0, let waker = try? Waker() else { exit(2) }
            let pool = ConnectionPool(.usual)  // No server has to listen at the default address.
            // None of the requests is sent during the test: they start after 900 s. A request that is not sent has no
            // connection, so `wait` must not pass a descriptor of the request to the kernel.
            var waiting = WaitingExchanges()
            let begin = ContinuousClock.now
            for id in 1...1000 {
                let exchange = Exchange(Request(.get, RequestTarget("v1")), pool)
                let span = AnswerReader.TimeSpan(start: begin + .seconds(900), deadline: begin + .seconds(1000))
                waiting.add(UInt64(id), exchange, span) { _ in }
            }
            // If the kernel refused the poll because of too many descriptors, `wait` would return immediately. `wait`
            // calls its closure only for a request that can continue, and no request can.
            waiting.wait(beside: waker.descriptor, until: begin + .milliseconds(50)) { _, _, _ in exit(3) }
            exit(ContinuousClock.now >= begin + .milliseconds(50) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
}
