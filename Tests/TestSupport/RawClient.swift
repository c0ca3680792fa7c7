internal import Glibc

/// A client that sends exactly the given bytes and reads answers one by one or piece by piece.
///
/// The calls block with a limit, so that a test fails instead of hanging. One thread can use hundreds of clients: the
/// kernel buffers the data for a client while the thread reads from another client, and `indicesOfReadable` finds the
/// clients with data.
package final class RawClient {
    package enum Failure: Error, Equatable {
        /// A system call failed. The associated values are its name and `errno`.
        case system(String, Int32)
        /// The peer sent or accepted no data in time.
        case timeout
        /// The peer closed the connection before the answer was complete. The associated value is the received part of
        /// the answer.
        case closed(String)
        /// The peer has reset the connection.
        case reset
        /// The associated value is a part of an answer that is not valid.
        case malformed(String)
    }

    private let descriptor: Int32
    private var isOpen = true
    /// The limit on the duration of a call, in seconds.
    private let patience: Int
    /// The received bytes that no method has returned yet.
    var pending = ReceivedBytes()
    /// The received bytes of a chunked body that no method has returned yet, without the framing of chunks.
    var decoded = ReceivedBytes()

    /// Connects. A small `receiveBuffer` makes the kernel buffer little data for a client that does not read.
    package init(_ address: RawAddress, patience seconds: Int = Deadline.patience, receiveBuffer: Int32? = nil) throws {
        patience = seconds
        descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        if address.family != AF_UNIX {
            // Without this option, the kernel could join parts that a test sends separately.
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

    /// Wraps an accepted connection.
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

    /// Sends the bytes in parts, split at these positions, and calls the closure after each part. Most closures wait
    /// until the peer has read the part.
    package func send(_ bytes: [UInt8], splitAt positions: some Sequence<Int>, after: () throws -> Void) throws {
        var start = 0
        for end in positions.map({ $0 }) + [bytes.count] {
            try send(Array(bytes[start..<end]))
            try after()
            start = end
        }
    }

    /// Sends as many bytes as the kernel accepts immediately and returns their number.
    package func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        max(0, bytes.withUnsafeBytes { sendAtOnce($0) })
    }

    private func sendAtOnce(_ bytes: UnsafeRawBufferPointer) -> Int {
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    // MARK: Ending

    /// Closes the sending side. Answers can still be read.
    package func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// True if the kernel of the peer has acknowledged all sent data, including a half-close.
    package var isAllAcknowledged: Bool {
        var bytes: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &bytes) == 0 && bytes == 0
    }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Glibc.close(descriptor)
    }

    /// Closes the connection with a reset.
    package func reset() {
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        close()
    }

    // MARK: Receiving

    /// True if data or the end of the connection can be read.
    package var isReadable: Bool {
        !Self.indicesOfReadable(among: [self], within: 0).isEmpty
    }

    /// Waits until data or the end of the connection can be read. Returns false if nothing arrived in time.
    package func isReadable(withinMilliseconds milliseconds: Int) -> Bool {
        guard pending.isEmpty && decoded.isEmpty else { return true }
        return !Deadline(milliseconds: milliseconds).wait(for: POLLIN, on: [descriptor]).isEmpty
    }

    /// Waits until data can be read. If the peer of `other` closes its sending side in the meantime, closes the sending
    /// side of this client.
    func waitForData(forwardingEndOf other: RawClient) {
        guard pending.isEmpty else { return }
        // The value of POLLRDHUP, which Swift's Glibc module does not define. `poll` reports this event when the peer
        // has closed its sending side.
        let peerHasEndedSending: Int16 = 0x2000
        var polled = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other.descriptor, events: peerHasEndedSending, revents: 0),
        ]
        poll(&polled, 2, Deadline(seconds: patience).milliseconds)
        if polled[1].revents != 0 { endSending() }
    }

    /// Waits until data can be read from at least one of the clients, and returns the indices of the clients with data.
    /// If some clients have received bytes that no method has returned yet, returns only the indices of these clients.
    /// Returns an empty array if nothing arrived in time.
    package static func indicesOfReadable(among clients: [RawClient], within seconds: Int = Deadline.patience) -> [Int]
    {
        let buffered = clients.indices.filter { !clients[$0].pending.isEmpty || !clients[$0].decoded.isEmpty }
        guard buffered.isEmpty else { return buffered }
        return Deadline(seconds: seconds).wait(for: POLLIN, on: clients.map(\.descriptor))
    }

    /// Calls the closure with the received bytes after each read, until the closure returns a result.
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
                if count > 0 { return pending.append(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])) }
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

/// Reading of answers, completely or piece by piece.
extension RawClient {
    /// Sends a request and reads its answer.
    package func exchange(_ text: String) throws -> RawResponse {
        try send(text)
        return try readResponse()
    }

    /// Reads an answer with its body.
    ///
    /// - Parameter toHead: True for the answer to a HEAD request, which has no body even if it has a Content-Length.
    package func readResponse(toHead: Bool = false) throws -> RawResponse {
        var response = try readHead()
        if !toHead { response.body = try readBody(of: response) }
        return response
    }

    /// Reads the body of an answer.
    package func readBody(of response: RawResponse) throws -> [UInt8] {
        guard response.mayHaveBody else { return [] }
        if response.isChunked {
            var body: [UInt8] = []
            while let chunk = try readChunkBytes() { body += chunk }
            return body
        }
        let length = response.length
        return try receive { $0.count >= length ? Array($0.remove(length)) : nil }
    }

    /// Reads the head of an answer and leaves its body unread.
    package func readHead() throws -> RawResponse {
        try RawResponse(head: receive { $0.remove(through: "\r\n\r\n") })
    }

    /// Reads one chunk of a chunked body; nil for the empty last chunk.
    package func readChunk() throws -> String? {
        try readChunkBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a chunked body through the next delimiter, regardless of chunk boundaries. The default delimiter is the
    /// empty line that ends a server-sent event. Returns nil at the end of the body; throws `malformed` if data without
    /// a delimiter remains.
    package func readPiece(through delimiter: String = "\n\n") throws -> String? {
        while true {
            if let piece = decoded.remove(through: delimiter) { return String(decoding: piece, as: UTF8.self) }
            guard let chunk = try readChunkBytes() else {
                guard decoded.isEmpty else { throw Failure.malformed(decoded.text) }
                return nil
            }
            decoded.append(chunk)
        }
    }

    /// Reads all data until the peer closes the connection.
    package func readUntilClose() throws -> [UInt8] {
        do {
            return try receive { _ -> [UInt8]? in nil }
        } catch Failure.closed {
            return pending.removeAll()
        }
    }

    /// Reads the next part of a body: a chunk, or the available data of a body that is not chunked. Returns nil at the
    /// end of the body. A body that is not chunked ends when the peer closes the connection.
    package func readBodyPart(of head: RawResponse) throws -> [UInt8]? {
        if head.isChunked { return try readChunkBytes().map { Array($0) } }
        do {
            return try receive { $0.isEmpty ? nil : $0.removeAll() }
        } catch Failure.closed {
            return nil
        }
    }

    private func readChunkBytes() throws -> ArraySlice<UInt8>? {
        let line = try receive { $0.remove(through: "\r\n") }.dropLast(2)
        guard let size = Int(String(decoding: line, as: UTF8.self), radix: 16) else {
            throw Failure.malformed(String(decoding: line, as: UTF8.self))
        }
        let chunk = try receive { $0.count >= size + 2 ? $0.remove(size + 2) : nil }
        guard chunk.suffix(2).elementsEqual("\r\n".utf8) else {
            throw Failure.malformed(String(decoding: chunk, as: UTF8.self))
        }
        return size == 0 ? nil : chunk.dropLast(2)
    }
}

extension RawClient {
    /// The number of watchers (long polls, event streams and reads that wait) according to the daemon's metrics.
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

/// A queue of received bytes. Removing bytes from the start costs time in proportion to the removed bytes, not to the
/// remaining bytes.
struct ReceivedBytes {
    private var bytes: [UInt8] = []
    private var start = 0

    var isEmpty: Bool { start == bytes.count }
    var count: Int { bytes.count - start }
    var text: String { String(decoding: bytes[start...], as: UTF8.self) }

    mutating func append(_ more: ArraySlice<UInt8>) {
        bytes += more
    }

    mutating func append(_ more: UnsafeMutableRawBufferPointer) {
        // A buffer of typed memory is copied at once; the bytes of a raw buffer would be copied one by one.
        more.withMemoryRebound(to: UInt8.self) { bytes += $0 }
    }

    mutating func remove(_ count: Int) -> ArraySlice<UInt8> {
        let removed = bytes[start..<(start + count)]
        start += count
        if start == bytes.count {
            bytes = []
            start = 0
        }
        return removed
    }

    mutating func removeAll() -> [UInt8] {
        Array(remove(count))
    }

    /// Removes the bytes through the first occurrence of the delimiter; nil if the delimiter does not occur.
    mutating func remove(through delimiter: String) -> ArraySlice<UInt8>? {
        let delimiter = Array(delimiter.utf8)
        guard let last = delimiter.last, count >= delimiter.count else { return nil }
        var end = start + delimiter.count
        // Large data arrives in many pieces and is searched after each piece, so a search byte by byte would be slow.
        let length = bytes.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            while end <= bytes.count, let found = memchr(base + (end - 1), Int32(last), bytes.count - end + 1) {
                end = UnsafeRawPointer(found) - base + 1
                if bytes[(end - delimiter.count)..<end].elementsEqual(delimiter) { return end - start }
                end += 1
            }
            return nil
        }
        return length.map { remove($0) }
    }
}
