internal import Glibc

/// A peer that sends exactly the bytes it is given and reads answers one by one, or piece by piece.
///
/// Blocking, each call for its time at most, so that a test fails instead of hanging. One thread may hold hundreds of
/// them: what comes for one waits in the kernel while another is read, and `withNews` tells which have something.
package final class RawClient {
    package enum Failure: Error, Equatable {
        case system(String, Int32)
        /// Nothing came, or was taken, in time.
        case timeout
        /// The peer closed before the answer was complete; with what had come of it.
        case closed(String)
        case reset
        case malformed(String)
    }

    private let descriptor: Int32
    private var isOpen = true
    /// How long a call may take, in seconds.
    private let patience: Int
    /// Read and not used yet.
    var pending = ReceivedBytes()
    /// Of a body that comes in chunks: read, freed of what frames it, and not used yet.
    var decoded = ReceivedBytes()

    /// Connects. `receiveBuffer` makes the kernel keep little for a peer that does not read.
    package init(_ address: RawAddress, patience seconds: Int = Deadline.patience, receiveBuffer: Int32? = nil) throws {
        patience = seconds
        descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        if address.family != AF_UNIX {
            // What is sent in parts shall arrive in parts.
            setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1 as Int32)
        }
        if let receiveBuffer { setOption(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        let result = address.withSocketAddress { connect(descriptor, $0, $1) }
        guard result == 0 else {
            let code = errno
            close()
            throw Failure.system("connect", code)
        }
    }

    /// Connects to a port of 127.0.0.1.
    package convenience init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        try self.init(.ipv4(port), receiveBuffer: receiveBuffer)
    }

    deinit {
        close()
    }

    // MARK: Sending

    package func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    package func send(_ bytes: [UInt8]) throws {
        let deadline = Deadline(seconds: patience)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { sendAtOnce($0) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                guard !deadline.wait(for: POLLOUT, on: [descriptor]).isEmpty else { throw Failure.timeout }
            } else if errno != EINTR {
                throw Failure.system("send", errno)
            }
        }
    }

    /// Sends the bytes in parts, divided at these places, and has something done after each part: usually, the other side
    /// read it.
    package func send(_ bytes: [UInt8], splitAt places: some Sequence<Int>, after: () throws -> Void) throws {
        var start = 0
        for end in places.map({ $0 }) + [bytes.count] {
            try send(Array(bytes[start..<end]))
            try after()
            start = end
        }
    }

    /// Sends what the kernel takes at once; returns how much that was.
    package func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        max(0, bytes.withUnsafeBytes { sendAtOnce($0) })
    }

    private func sendAtOnce(_ bytes: UnsafeRawBufferPointer) -> Int {
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    // MARK: Ending

    /// Half-close: nothing more will be sent, answers are still read.
    package func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Glibc.close(descriptor)
    }

    /// Closes so that the other side sees a reset.
    package func reset() {
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        close()
    }

    // MARK: Receiving

    /// True if something is there to be read: bytes, or the end.
    package var hasNews: Bool {
        !Self.withNews(among: [self], within: 0).isEmpty
    }

    /// Waits until there is something to be read; false if nothing came in time.
    package func hasNews(within milliseconds: Int) -> Bool {
        guard pending.isEmpty && decoded.isEmpty else { return true }
        return !Deadline(milliseconds: milliseconds).wait(for: POLLIN, on: [descriptor]).isEmpty
    }

    /// Waits until there is something to be read on some of the clients, and returns their positions; none if nothing came
    /// in time.
    package static func withNews(among clients: [RawClient], within seconds: Int = Deadline.patience) -> [Int] {
        let kept = clients.indices.filter { !clients[$0].pending.isEmpty || !clients[$0].decoded.isEmpty }
        guard kept.isEmpty else { return kept }
        return Deadline(seconds: seconds).wait(for: POLLIN, on: clients.map(\.descriptor))
    }

    /// Has `body` look at what has come, and at more of it, until it finds what it wants.
    func receive<Found>(_ body: (inout ReceivedBytes) throws -> Found?) throws -> Found {
        let deadline = Deadline(seconds: patience)
        while true {
            if let found = try body(&pending) { return found }
            try receiveMore(by: deadline)
        }
    }

    private func receiveMore(by deadline: Deadline) throws {
        try withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 16) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count > 0 { return pending.append(buffer[..<count]) }
                guard count < 0 else { throw Failure.closed(pending.text) }
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    guard !deadline.wait(for: POLLIN, on: [descriptor]).isEmpty else { throw Failure.timeout }
                case ECONNRESET: throw Failure.reset
                default: throw Failure.system("recv", errno)
                }
            }
        }
    }

    private func setOption<Value: BitwiseCopyable>(_ level: Int32, _ name: Int32, _ value: Value) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Value>.size))
    }
}
