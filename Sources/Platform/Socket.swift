internal import CLinux
internal import Glibc

/// A descriptor that is closed when its owner goes.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    deinit {
        // Not repeated after EINTR: Linux has freed the number by then.
        _ = close(number)
    }
}

/// A stream socket that never blocks, owns its descriptor and closes it.
///
/// Calls repeat themselves when a signal interrupts them. One thread at a time uses a socket.
package struct Socket: ~Copyable, Sendable {
    private let owned: Descriptor

    /// The state of a connection that was begun.
    package enum Connecting: Equatable {
        case connected
        /// Writable when there is a result.
        case inProgress
        /// The backlog of a Unix domain socket is full. Close this socket and try another later.
        case busy
        case failed(code: Int32)
    }

    package enum Received: Equatable {
        case bytes(Int)
        /// The peer has shut down its sending side.
        case end
        /// There is nothing at present.
        case nothing
        /// The connection is gone.
        case failed(code: Int32)
    }

    /// Takes over a descriptor of a socket that does not block.
    package init(adopting descriptor: Int32) {
        owned = Descriptor(descriptor)
    }

    /// Makes a socket that can connect to an address.
    package init(for address: SocketAddress) throws(SystemError) {
        let made = try Self.make(address.family)
        // Requests go out when they are written, not when the peer has acknowledged those before.
        if !address.isUnix { try Self.set(TCP_NODELAY, Int32(IPPROTO_TCP), to: 1, on: made.number) }
        owned = made
    }

    /// The number to wait on. The socket keeps it open.
    package var descriptor: Int32 { owned.number }

    /// Begins to connect.
    package func connect(to address: SocketAddress) -> Connecting {
        guard address.withSocketAddress({ Glibc.connect(descriptor, $0, $1) }) != 0 else { return connected }
        switch errno {
        // An interrupted call goes on by itself.
        case EINPROGRESS, EINTR: return .inProgress
        case EAGAIN where address.isUnix: return .busy
        case let code: return .failed(code: code)
        }
    }

    /// Returns the state of a connection that was in progress. Never waits.
    package func connectionState() -> Connecting {
        guard PollSet.isReady(descriptor, for: .writable) else { return .inProgress }
        guard let code = Self.option(SO_ERROR, on: descriptor) else { return .failed(code: errno) }
        return code == 0 ? connected : .failed(code: code)
    }

    /// True if an error ended the connection that nobody was told of, as when its peer has reset it. Asking forgets it.
    package var hasFailed: Bool { Self.option(SO_ERROR, on: descriptor) != 0 }

    /// TCP connects a client to itself that tries a local port where no program listens and gets that port as its own.
    private var connected: Connecting {
        let own = SocketAddress.written { getsockname(descriptor, $0, $1) }
        guard let own, !own.isUnix, own == SocketAddress.written(by: { getpeername(descriptor, $0, $1) }) else {
            return .connected
        }
        return .failed(code: ECONNREFUSED)
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
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

    /// Returns how many of the bytes the kernel took, 0 if its buffer is full; nil if the peer takes nothing more.
    package func send(_ bytes: Span<UInt8>) -> Int? {
        Self.send(bytes, on: descriptor)
    }

    /// Sends on a socket that its owner keeps open meanwhile, from any thread.
    package static func send(_ bytes: Span<UInt8>, on descriptor: Int32) -> Int? {
        bytes.withUnsafeBytes { bytes in
            while true {
                // Without a SIGPIPE, whatever the process does with signals.
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

    /// True if neither bytes nor the end have come.
    package var isQuiet: Bool { !PollSet.isReady(descriptor, for: .readable) }

    /// Tells the peer that nothing more will be sent. After a failure the peer is gone, which the next read reports.
    package func endSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes closing discard what the peer has not acknowledged, and tell it so.
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

    /// Returns the value of an option of a socket; nil if there is none.
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
