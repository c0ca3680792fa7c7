import CLinux
import Glibc

/// A connection and the one answer that is being received on it.
///
/// The beginning of an answer is kept until the next is begun; of a long one the rest is counted and dropped.
struct Channel {
    enum Received {
        case nothing
        /// The head is there, and it was not before.
        case head
        case answer
        /// The server closed the connection.
        case end
    }

    let socket: Int32
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private var filled = 0
    private var dropped = 0
    private(set) var head: AnswerHead?
    /// When the last bytes of the answer arrived at the socket.
    private(set) var arrival = 0.0

    init(to port: UInt16, from host: UInt32, room: Int) throws(LoadFailure) {
        socket = try connectedSocket(to: port, from: host)
        buffer = .allocate(capacity: room)
    }

    /// Frees what it has; it cannot be used any more.
    func discard() {
        close(socket)
        buffer.deallocate()
    }

    /// The answer, as far as it was kept.
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(UnsafeBufferPointer(rebasing: buffer[..<filled]).span)
    }

    var text: String { String(decoding: buffer[..<filled], as: UTF8.self) }

    /// Sends a request; what was answered before is forgotten.
    mutating func send(_ request: [UInt8]) throws(LoadFailure) {
        (filled, dropped, head) = (0, 0, nil)
        let sent = Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        guard sent == request.count else { throw systemFailure("a request could not be sent") }
    }

    /// Takes what has arrived. Returns after each `recv` that emptied the socket, without asking whether there is more:
    /// that will be reported.
    mutating func receive(_ scratch: UnsafeMutableBufferPointer<UInt8>) throws(LoadFailure) -> Received {
        let hadHead = head != nil
        while true {
            let isFull = filled == buffer.count
            let room = isFull ? scratch : UnsafeMutableBufferPointer(rebasing: buffer[filled...])
            let (count, arrival) = received(from: socket, into: room)
            guard count > 0 else {
                if count < 0, errno == EAGAIN { return .nothing }
                if count == 0 { return .end }
                throw systemFailure("recv")
            }
            self.arrival = arrival
            if isFull { dropped += count } else { filled += count }
            if try isComplete() { return .answer }
            if count < room.count { return head != nil && !hadHead ? .head : .nothing }
        }
    }

    private mutating func isComplete() throws(LoadFailure) -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<filled]).span
        if head == nil { head = try AnswerHead(bytes) }
        guard let end = try head?.end(bytes) else {
            if filled == buffer.count { throw LoadFailure("an answer of unknown length is over \(filled) bytes") }
            return false
        }
        guard end >= filled + dropped else { throw LoadFailure("more came than one answer") }
        return end == filled + dropped
    }
}
