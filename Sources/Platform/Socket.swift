internal import CLinux
internal import Glibc

/// A file descriptor, which is closed when the lifetime of the value ends.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    deinit {
        // Do not repeat the call after EINTR, because Linux has already closed the descriptor.
        _ = close(number)
    }
}

/// A non-blocking stream socket. The methods repeat a system call that a signal interrupts. Not thread-safe.
package struct Socket: ~Copyable, Sendable {
    private let owned: Descriptor

    /// The state of a connection attempt.
    package enum ConnectState: Equatable {
        case connected
        /// The socket becomes writable when the attempt succeeds or fails.
        case inProgress
        /// The listen backlog of a Unix domain socket is full. The calling code closes this socket and retries with a
        /// new socket.
        case busy
        /// - Parameter code: the `errno` of the failure.
        case failed(code: Int32)
    }

    package enum ReceiveResult: Equatable {
        case bytes(Int)
        /// The peer has shut down its sending side, and all bytes were read.
        case end
        /// No bytes can be read now.
        case nothing
        /// The connection is closed. The code is the `errno` of the read.
        case failed(code: Int32)
    }

    /// Takes ownership of the descriptor of a non-blocking socket.
    package init(adopting descriptor: Int32) {
        owned = Descriptor(descriptor)
    }

    /// Makes a socket that can connect to an address.
    package init(for address: SocketAddress) throws(SystemError) {
        let newDescriptor = try Self.make(address.family)
        // The kernel sends each write at once, without waiting for the acknowledgement of earlier data.
        if !address.isUnix { try Self.set(TCP_NODELAY, Int32(IPPROTO_TCP), to: 1, on: newDescriptor.number) }
        owned = newDescriptor
    }

    /// The descriptor on which the calling code waits until the socket is ready. Owned by the socket.
    package var descriptor: Int32 { owned.number }

    /// Starts to connect.
    package func connect(to address: SocketAddress) -> ConnectState {
        guard address.withSocketAddress({ Glibc.connect(descriptor, $0, $1) }) != 0 else { return connectedState }
        switch errno {
        // After an interrupted call, the kernel continues to connect.
        case EINPROGRESS, EINTR: return .inProgress
        case EAGAIN where address.isUnix: return .busy
        case let code: return .failed(code: code)
        }
    }

    /// Returns the state of a connection attempt that was in progress. Never waits.
    package func connectionState() -> ConnectState {
        guard PollSet.isReady(descriptor, for: .writable) else { return .inProgress }
        guard let code = Self.option(SO_ERROR, on: descriptor) else { return .failed(code: errno) }
        return code == 0 ? connectedState : .failed(code: code)
    }

    /// True if the socket has a pending error, such as a reset by the peer. Reading this property clears the pending
    /// error.
    package var hasFailed: Bool { Self.option(SO_ERROR, on: descriptor) != 0 }

    /// The state after the kernel reports success: `connected`, or a refused connection if the socket is connected to
    /// itself.
    ///
    /// TCP connects a socket to itself if no program listens on a local port, and the kernel chooses the same port for
    /// the client.
    private var connectedState: ConnectState {
        let own = SocketAddress.returned { getsockname(descriptor, $0, $1) }
        guard let own, !own.isUnix, own == SocketAddress.returned(by: { getpeername(descriptor, $0, $1) }) else {
            return .connected
        }
        return .failed(code: ECONNREFUSED)
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> ReceiveResult {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            case let code: return .failed(code: code)
            }
        }
    }

    /// Sends bytes. Returns the number that the kernel accepted: 0 if the send buffer is full, nil after a failure.
    package func send(_ bytes: Span<UInt8>) -> Int? {
        Self.send(bytes, on: descriptor)
    }

    /// Sends bytes like ``send(_:)``. The owner of the socket must keep the socket open during the call. Thread-safe.
    package static func send(_ bytes: Span<UInt8>, on descriptor: Int32) -> Int? {
        bytes.withUnsafeBytes { bytes in
            while true {
                // With MSG_NOSIGNAL, a closed connection never raises SIGPIPE.
                let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                if count >= 0 { return count }
                switch errno {
                case EINTR: continue
                case EAGAIN: return 0
                default: return nil
                }
            }
        }
    }

    /// True if there are no bytes to read, and the peer has not closed its sending side.
    package var hasNoInput: Bool { !PollSet.isReady(descriptor, for: .readable) }

    /// Shuts down the sending side. If the call fails, the connection is already closed, and the next read reports an
    /// error.
    package func endSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes a later close of the socket reset the connection and discard unacknowledged data.
    package func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    static func make(_ family: Int32) throws(SystemError) -> Descriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        return Descriptor(descriptor)
    }

    /// Returns the value of a socket option of the level `SOL_SOCKET`, or nil if the call fails.
    static func option(_ option: Int32, on descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : nil
    }

    static func set(_ option: Int32, _ level: Int32, to value: Int32, on descriptor: Int32) throws(SystemError) {
        var value = value
        guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw SystemError(call: "setsockopt")
        }
    }
}
