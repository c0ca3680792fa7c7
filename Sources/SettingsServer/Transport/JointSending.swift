import Dispatch
import HTTPWire
import Platform

/// Small pieces for many connections, sent by all processors at once.
///
/// Thousands may wait for one event. Most of what it takes to answer them is the kernel's work in `send`, which needs
/// nothing that belongs to the loop. The loop waits for it, so connections are still touched by nobody else.
struct JointSending {
    /// Fewer are sent sooner than another thread wakes up.
    static let least = 64
    /// Larger pieces are not copied together.
    static let longestPiece = 16 * 1024
    /// How many pieces a thread takes at a time.
    private static let share = 16
    private static let keptBytes = 1024 * 1024

    private struct Piece: BitwiseCopyable {
        let descriptor: Int32
        let start: Int
        let end: Int
    }

    private var pieces: [Piece] = []
    private var bytes: [UInt8] = []
    /// The answer that was rendered last, and where: who watch the same are told the same.
    private var last: (response: Response, form: AnswerForm, start: Int, end: Int)?

    var isFull: Bool { bytes.count >= Self.keptBytes }

    mutating func add(_ response: Response, _ form: AnswerForm, _ context: LoopContext, to socket: borrowing Socket) {
        if let last, last.form == form, last.response.isCopy(of: response) {
            pieces.append(Piece(descriptor: socket.descriptor, start: last.start, end: last.end))
            return
        }
        let start = bytes.count
        ResponseWriter.append(
            response, to: &bytes, head: form.isHead, keepAlive: true, http11: form.isHTTP11, date: context.date,
            more: context.moreFields[form.fields])
        last = (response, form, start, bytes.count)
        pieces.append(Piece(descriptor: socket.descriptor, start: start, end: bytes.count))
    }

    mutating func add(_ piece: [UInt8], to socket: borrowing Socket) {
        pieces.append(Piece(descriptor: socket.descriptor, start: bytes.count, end: bytes.count + piece.count))
        bytes += piece
    }

    /// Sends all pieces. Then tells of each, in order, what became of it, and what of it was not sent.
    mutating func send(_ told: (Int, Int?, _ rest: ArraySlice<UInt8>) -> Void) {
        var outcomes = [Int?](repeating: nil, count: pieces.count)
        outcomes.withUnsafeMutableBufferPointer { outcomes in
            bytes.withUnsafeBufferPointer { bytes in
                pieces.withUnsafeBufferPointer { pieces in
                    // Each turn writes its own outcomes only.
                    nonisolated(unsafe) let (outcomes, bytes, pieces) = (outcomes, bytes, pieces)
                    let turns = (pieces.count + Self.share - 1) / Self.share
                    DispatchQueue.concurrentPerform(iterations: turns) { turn in
                        for index in turn * Self.share..<min((turn + 1) * Self.share, pieces.count) {
                            let piece = pieces[index]
                            let part = UnsafeBufferPointer(rebasing: bytes[piece.start..<piece.end])
                            outcomes[index] = Socket.send(part.span, on: piece.descriptor)
                        }
                    }
                }
            }
        }
        for (index, outcome) in outcomes.enumerated() {
            var rest: ArraySlice<UInt8> = []
            if let count = outcome { rest = bytes[(pieces[index].start + count)..<pieces[index].end] }
            told(index, outcome, rest)
        }
        pieces.removeAll(keepingCapacity: true)
        last = nil
        if bytes.capacity > 2 * Self.keptBytes { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
    }
}

extension Connection {
    /// Puts what is ready among the pieces, if it is of the simplest kind: one small answer, or more of a stream. False
    /// if it is to be sent in the usual way.
    func join(_ sending: inout JointSending, _ context: LoopContext) -> Bool {
        guard phase == .open, unsent.isEmpty, owed.count == 1, !sending.isFull, let response = owed[0].response else {
            return false
        }
        if let stream = owed[0].stream {
            guard stream.hasBegun, !stream.hasEnded, !stream.pending.isEmpty,
                stream.pending.count <= JointSending.longestPiece
            else { return false }
            sending.add(stream.takePending(), to: socket)
            return true
        }
        guard response.body.count <= JointSending.longestPiece else { return false }
        let form = owed[0].form
        owed.removeLast()
        sending.add(inForm(response, form, isLast: true, context), form, context, to: socket)
        return true
    }
}

extension EventLoop {
    /// Sends what many connections have ready, as far as it can be sent so. What is left is for each one's own turn.
    func sendJointly(_ connections: [Connection], _ context: LoopContext) {
        var sending = context.jointSending
        context.jointSending = JointSending()
        let joined = connections.filter { $0.join(&sending, context) }
        sending.send { index, outcome, rest in joined[index].haveSent(outcome, rest: rest, context) }
        context.jointSending = sending
    }
}
