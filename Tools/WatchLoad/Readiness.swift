import CLinux
import Glibc

/// An epoll set. It reports which descriptors are readable, by the number that the calling code chose for each
/// descriptor.
final class Readiness {
    /// The maximum number of descriptors that one call of `wait` reports.
    private static let capacity = 512

    private let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>

    init() throws(LoadFailure) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw systemFailure("epoll_create1") }
        events = .allocate(capacity: Self.capacity)
        events.initialize(repeating: epoll_event(), count: Self.capacity)
    }

    deinit {
        close(descriptor)
        events.deallocate()
    }

    func add(_ file: Int32, number: Int) throws(LoadFailure) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = UInt64(number)
        guard epoll_ctl(descriptor, EPOLL_CTL_ADD, file, &event) == 0 else { throw systemFailure("epoll_ctl") }
    }

    func remove(_ file: Int32) {
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, file, nil)
    }

    /// Waits until a descriptor is readable, at most `milliseconds`; -1 for no limit. Returns the count of readable
    /// descriptors. The subscript returns the number of each readable descriptor.
    func wait(_ milliseconds: Int32) throws(LoadFailure) -> Int {
        while true {
            let count = epoll_wait(descriptor, events, Int32(Self.capacity), milliseconds)
            if count >= 0 { return Int(count) }
            guard errno == EINTR else { throw systemFailure("epoll_wait") }
        }
    }

    /// The number of the readable descriptor at a position below the count that `wait` returned.
    subscript(position: Int) -> Int {
        Int(events[position].data.u64)
    }
}
