import CLinux
import Glibc

/// Which descriptors have something to read, by the names they were added under.
final class Readiness {
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

    func add(_ file: Int32, name: Int) throws(LoadFailure) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = UInt64(name)
        guard epoll_ctl(descriptor, EPOLL_CTL_ADD, file, &event) == 0 else { throw systemFailure("epoll_ctl") }
    }

    func remove(_ file: Int32) {
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, file, nil)
    }

    /// How many are ready, after at most so many milliseconds; -1 is for as long as it takes.
    func wait(_ milliseconds: Int32) throws(LoadFailure) -> Int {
        while true {
            let count = epoll_wait(descriptor, events, Int32(Self.capacity), milliseconds)
            if count >= 0 { return Int(count) }
            guard errno == EINTR else { throw systemFailure("epoll_wait") }
        }
    }

    subscript(position: Int) -> Int {
        Int(events[position].data.u64)
    }
}
