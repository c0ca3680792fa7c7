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

    /// Takes a connection that was accepted.
    init(accepted descriptor: Int32) {
        (self.descriptor, patience) = (descriptor, Deadline.patience)
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

    /// True once the kernel of the other side has all that was sent, the end included.
    package var isAllAcknowledged: Bool {
        var bytes: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &bytes) == 0 && bytes == 0
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

    /// Waits until there is something to be read. If another peer ends its side meanwhile, ends this one.
    func awaitNews(passingOnEndOf other: RawClient) {
        guard pending.isEmpty else { return }
        // POLLRDHUP, which Glibc does not have here: the peer has ended its side.
        let ended: Int16 = 0x2000
        var polled = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other.descriptor, events: ended, revents: 0),
        ]
        poll(&polled, 2, Deadline(seconds: patience).milliseconds)
        if polled[1].revents != 0 { endSending() }
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

/// Reading answers: whole, or piece by piece where they have no end.
extension RawClient {
    /// Sends a request and reads its answer.
    package func exchange(_ text: String) throws -> RawResponse {
        try send(text)
        return try readResponse()
    }

    /// Reads one answer with its body, by its length or chunk by chunk. `toHead`: it answers HEAD and has no body, whatever
    /// it says.
    package func readResponse(toHead: Bool = false) throws -> RawResponse {
        var response = try readHead()
        if !toHead { response.body = try readBody(of: response) }
        return response
    }

    /// Reads what comes after the head of an answer.
    package func readBody(of response: RawResponse) throws -> [UInt8] {
        guard response.mayHaveBody else { return [] }
        if response.isChunked {
            var body: [UInt8] = []
            while let chunk = try readChunkBytes() { body += chunk }
            return body
        }
        let length = response.length
        return try receive { $0.count >= length ? Array($0.take(length)) : nil }
    }

    /// Reads the head of an answer and nothing of its body.
    package func readHead() throws -> RawResponse {
        try RawResponse(head: receive { $0.take(through: "\r\n\r\n") })
    }

    /// Reads a chunk of a body that comes in chunks, as it was sent; nil for the last, which is empty.
    package func readChunk() throws -> String? {
        try readChunkBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a chunked body up to the end of the next mark, wherever the chunks begin and end: an empty line (`\n\n`) ends an
    /// event. Nil if the body ends before it; what is left then is thrown as malformed.
    package func readPiece(through mark: String = "\n\n") throws -> String? {
        while true {
            if let piece = decoded.take(through: mark) { return String(decoding: piece, as: UTF8.self) }
            guard let chunk = try readChunkBytes() else {
                guard decoded.isEmpty else { throw Failure.malformed(decoded.text) }
                return nil
            }
            decoded.append(chunk)
        }
    }

    /// Everything up to the end that the peer makes.
    package func readUntilClose() throws -> [UInt8] {
        do {
            return try receive { _ -> [UInt8]? in nil }
        } catch Failure.closed {
            return pending.takeAll()
        }
    }

    /// Reads some more of a body, as it comes: a chunk, or where there are none, whatever is there. Nil at its end.
    package func readBodyPart(of head: RawResponse) throws -> [UInt8]? {
        if head.isChunked { return try readChunkBytes().map { Array($0) } }
        do {
            return try receive { $0.isEmpty ? nil : $0.takeAll() }
        } catch Failure.closed {
            return nil
        }
    }

    private func readChunkBytes() throws -> ArraySlice<UInt8>? {
        let line = try receive { $0.take(through: "\r\n") }.dropLast(2)
        guard let size = Int(String(decoding: line, as: UTF8.self), radix: 16) else {
            throw Failure.malformed(String(decoding: line, as: UTF8.self))
        }
        let chunk = try receive { $0.count >= size + 2 ? $0.take(size + 2) : nil }
        guard chunk.suffix(2).elementsEqual("\r\n".utf8) else {
            throw Failure.malformed(String(decoding: chunk, as: UTF8.self))
        }
        return size == 0 ? nil : chunk.dropLast(2)
    }
}

extension RawClient {
    /// The number of requests that wait for a change, as the daemon counts them.
    package func watcherCount(
        _ request: [UInt8] = Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    ) throws -> Int {
        try send(request)
        let lines = try readResponse().text.split(separator: "\n")
        let name = "settingsd_watchers "
        guard let line = lines.first(where: { $0.hasPrefix(name) }), let count = Int(line.dropFirst(name.count)) else {
            throw Failure.malformed("\(lines)")
        }
        return count
    }
}

/// What has come and has not been used yet. Taking from its start costs what is taken, however much is behind it.
struct ReceivedBytes {
    private var bytes: [UInt8] = []
    private var start = 0

    var isEmpty: Bool { start == bytes.count }
    var count: Int { bytes.count - start }
    var text: String { String(decoding: bytes[start...], as: UTF8.self) }

    mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let taken = bytes[start..<(start + count)]
        start += count
        if start == bytes.count {
            bytes = []
            start = 0
        }
        return taken
    }

    mutating func takeAll() -> [UInt8] {
        Array(take(count))
    }

    /// Takes everything up to the end of the first place where the mark stands; nil if it stands nowhere.
    mutating func take(through mark: String) -> ArraySlice<UInt8>? {
        let mark = Array(mark.utf8)
        guard let last = mark.last, count >= mark.count else { return nil }
        var end = start + mark.count
        // What is large comes in many pieces, and each is looked through again: byte by byte would take long.
        let length = bytes.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            while end <= bytes.count, let found = memchr(base + (end - 1), Int32(last), bytes.count - end + 1) {
                end = UnsafeRawPointer(found) - base + 1
                if bytes[(end - mark.count)..<end].elementsEqual(mark) { return end - start }
                end += 1
            }
            return nil
        }
        return length.map { take($0) }
    }
}
