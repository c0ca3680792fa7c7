package import Dispatch
internal import Glibc

/// Until when something is waited for.
package struct Deadline {
    /// For how many seconds tests wait for what must come. Only a defect lets that time pass: however busy the machine is, it
    /// decides how soon a test ends, not how.
    package static let patience = 180

    private let time: Int

    init(seconds: Int = patience) {
        self.init(milliseconds: seconds * 1000)
    }

    init(milliseconds: Int) {
        time = Self.now + milliseconds
    }

    /// As `poll` wants it; 0 once it is over.
    var milliseconds: Int32 { Int32(max(0, time - Self.now)) }

    /// Waits until one of these descriptors is ready, and says which are; none if the time is over.
    func wait(for events: Int32, on descriptors: [Int32]) -> [Int] {
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(events), revents: 0) }
        while poll(&polled, nfds_t(polled.count), milliseconds) < 0, errno == EINTR {}
        return polled.indices.filter { polled[$0].revents != 0 }
    }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
    }
}

/// Asks again and again until something is so. Throws once tests have been patient enough.
package func eventually(_ function: StaticString = #function, _ isSo: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(Deadline.patience)
    while try !isSo() {
        guard ContinuousClock.now < end else { throw NeverSo(function: function) }
        // The threads that bring it about may need this processor.
        poll(nil, 0, 1)
    }
}

/// The error of a wait for something that did not come.
private struct NeverSo: Error {
    let function: StaticString
}

extension DispatchSemaphore {
    /// Waits as long as tests are patient. Then the program ends: a signal that has not come by then never comes.
    package func patientWait(_ function: StaticString = #function) {
        guard wait(timeout: .now() + .seconds(Deadline.patience)) == .success else {
            fatalError("\(function) waited too long")
        }
    }
}
