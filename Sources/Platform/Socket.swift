internal import CLinux
internal import Glibc

/// A connected socket that does not block. Whoever holds it closes it, once; calls repeat themselves when a signal
/// interrupts them.
package struct Socket: BitwiseCopyable, Sendable {
    package let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    package enum Received {
        case bytes(Int)
        /// The peer has shut down its sending side.
        case end
        /// Nothing there now.
        case nothing
        /// Reset, or worse: the connection is gone.
        case failed
    }

    package enum Sent {
        /// That many, which may be fewer than given; 0 if the send buffer is full.
        case bytes(Int)
        case failed
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .failed
            }
        }
    }

    /// Without a SIGPIPE, whatever the process does with signals.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Sent {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .bytes(0)
            default: return .failed
            }
        }
    }

    /// Says that nothing more will be sent. A failure means that the peer is gone, which the next read tells.
    package func endSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// What has not been acknowledged is thrown away at `close`, and the peer is told that it was.
    package func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Closing repeats for no error: on Linux the descriptor is free even after EINTR.
    package func close() {
        _ = Glibc.close(descriptor)
    }
}
