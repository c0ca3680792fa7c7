internal import Glibc

/// A thread of its own that nobody waits for.
enum DetachedThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Returns 0, or why the system has no thread.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { pointer in
                if let pointer { Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body() }
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            return code
        }
        _ = pthread_detach(thread)
        return 0
    }
}

/// What one thread waits on and any other can end the wait with.
final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// Nil with `errno` set if the system has no descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        _ = close(readEnd)
        _ = close(writeEnd)
    }

    /// Makes the read end readable.
    func wake() {
        var byte: UInt8 = 1
        while write(writeEnd, &byte, 1) < 0, errno == EINTR {}
    }

    /// Takes back one `wake`.
    func settle() {
        var byte: UInt8 = 0
        while read(readEnd, &byte, 1) < 0, errno == EINTR {}
    }
}
