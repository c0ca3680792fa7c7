import CLinux
import Glibc

/// A connection with at most one request in flight, and the answer to this request.
///
/// A buffer stores the beginning of the answer until the next request. The bytes of the answer that do not fit into the
/// buffer are counted and dropped. The head of an answer, and a whole chunked answer, must fit into the buffer.
struct Channel {
    enum Received {
        /// The answer is incomplete. This call has not completed the head.
        case incomplete
        /// This call has completed the head of the answer. The body is incomplete.
        case head
        /// The answer is complete.
        case answer
        /// The server has closed the connection.
        case end
    }

    let socket: Int32
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    /// The number of bytes of the answer in the buffer.
    private var filled = 0
    /// The number of bytes of the answer that were dropped.
    private var dropped = 0
    private(set) var head: AnswerHead?
    /// The time at which the kernel received the last bytes of the answer, in seconds of the wall clock.
    private(set) var arrival = 0.0

    /// - Parameter bufferSize: the maximum number of bytes of an answer that are stored.
    init(to port: UInt16, from host: UInt32, bufferSize: Int) throws(LoadFailure) {
        socket = try connectedSocket(to: port, from: host)
        buffer = .allocate(capacity: bufferSize)
    }

    /// Closes the connection and frees the buffer. The channel must not be used afterwards.
    func close() {
        Glibc.close(socket)
        buffer.deallocate()
    }

    /// Calls the body with the stored beginning of the answer.
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(UnsafeBufferPointer(rebasing: buffer[..<filled]).span)
    }

    var text: String { String(decoding: buffer[..<filled], as: UTF8.self) }

    /// Sends a request. Drops the previous answer.
    mutating func send(_ request: [UInt8]) throws(LoadFailure) {
        (filled, dropped, head) = (0, 0, nil)
        let sent = Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        guard sent == request.count else { throw systemFailure("cannot send a request") }
    }

    /// Receives the bytes that have arrived. A `recv` that returns fewer bytes than requested has emptied the socket.
    /// The method then returns without a further `recv`, because epoll reports further bytes.
    ///
    /// - Parameter scratch: a buffer for bytes that are dropped.
    mutating func receive(_ scratch: UnsafeMutableBufferPointer<UInt8>) throws(LoadFailure) -> Received {
        let hadHead = head != nil
        while true {
            let isFull = filled == buffer.count
            let target = isFull ? scratch : UnsafeMutableBufferPointer(rebasing: buffer[filled...])
            let (count, arrival) = received(from: socket, into: target)
            guard count > 0 else {
                if count < 0, errno == EAGAIN { return head != nil && !hadHead ? .head : .incomplete }
                if count == 0 { return .end }
                throw systemFailure("recv")
            }
            self.arrival = arrival
            if isFull { dropped += count } else { filled += count }
            if try isComplete() { return .answer }
            if count < target.count { return head != nil && !hadHead ? .head : .incomplete }
        }
    }

    private mutating func isComplete() throws(LoadFailure) -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<filled]).span
        if head == nil { head = try AnswerHead(bytes) }
        guard let end = try head?.end(bytes) else {
            if filled == buffer.count { throw LoadFailure("a head or a chunked answer exceeds \(filled) bytes") }
            return false
        }
        guard end >= filled + dropped else { throw LoadFailure("the server sent more bytes than one answer") }
        return end == filled + dropped
    }
}
