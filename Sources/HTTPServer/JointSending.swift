internal import Dispatch
internal import HTTPWire
internal import Platform

/// A batch of small answers to many connections that all processors send at once.
///
/// Thousands may wait for one event. Most of the cost of answering them is the kernel's work in `send`, which needs nothing
/// that belongs to the loop. The loop waits for it, so no other thread touches a connection meanwhile.
struct JointSending {
    /// Fewer are sent sooner than another thread wakes up.
    static let least = 64
    /// Larger pieces are not copied together.
    static let longestPiece = 16 * 1024
    /// The pieces that a thread takes at a time.
    private static let share = 16
    private static let keptBytes = 1024 * 1024

    private struct Piece: BitwiseCopyable {
        let descriptor: Int32
        let start: Int
        let end: Int
    }

    private var pieces: [Piece] = []
    private var bytes: [UInt8] = []
    /// The answer that was rendered last, with its place: watchers of the same get copies of one answer.
    private var last: (response: Response, form: AnswerForm, keepsAlive: Bool, start: Int, end: Int)?

    var isFull: Bool { bytes.count >= Self.keptBytes }

    mutating func add(
        _ response: Response, _ form: AnswerForm, keepsAlive: Bool, _ context: LoopContext, to descriptor: Int32
    ) {
        if let last, last.form == form, last.keepsAlive == keepsAlive, last.response.isCopy(of: response) {
            pieces.append(Piece(descriptor: descriptor, start: last.start, end: last.end))
            return
        }
        let start = bytes.count
        ResponseWriter.append(
            response, to: &bytes, omitsBody: form.isHead, keepAlive: keepsAlive, http11: form.isHTTP11,
            date: context.date, additionalFields: context.moreFields[form.fields])
        last = (response, form, keepsAlive, start, bytes.count)
        pieces.append(Piece(descriptor: descriptor, start: start, end: bytes.count))
    }

    mutating func add(_ piece: [UInt8], to descriptor: Int32) {
        pieces.append(Piece(descriptor: descriptor, start: bytes.count, end: bytes.count + piece.count))
        bytes += piece
    }

    /// Sends all pieces. Then calls `report` for each, in order, with what was not sent of it; nil if its peer is gone.
    mutating func send(_ report: (Int, _ rest: ArraySlice<UInt8>?) -> Void) {
        var counts = [Int?](repeating: nil, count: pieces.count)
        counts.withUnsafeMutableBufferPointer { counts in
            bytes.withUnsafeBufferPointer { bytes in
                pieces.withUnsafeBufferPointer { pieces in
                    // Each turn writes its own counts only.
                    nonisolated(unsafe) let (counts, bytes, pieces) = (counts, bytes, pieces)
                    let turns = (pieces.count + Self.share - 1) / Self.share
                    DispatchQueue.concurrentPerform(iterations: turns) { turn in
                        for index in turn * Self.share..<min((turn + 1) * Self.share, pieces.count) {
                            let piece = pieces[index]
                            let part = UnsafeBufferPointer(rebasing: bytes[piece.start..<piece.end])
                            counts[index] = Socket.send(part.span, on: piece.descriptor)
                        }
                    }
                }
            }
        }
        for (index, count) in counts.enumerated() {
            report(index, count.map { bytes[(pieces[index].start + $0)..<pieces[index].end] })
        }
        pieces.removeAll(keepingCapacity: true)
        last = nil
        if bytes.capacity > 2 * Self.keptBytes { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
    }
}

extension Connection {
    /// Adds what is ready if it is of the simplest kind: one small answer, or more of a stream. Returns false if it is to
    /// be sent in the usual way.
    func join(_ sending: inout JointSending, _ context: LoopContext) -> Bool {
        guard phase == .open, unsent == nil, owed.count == 1, !sending.isFull, let answer = owed.popFirst() else {
            return false
        }
        if let stream = answer.stream {
            owed.prepend(answer)
            guard stream.hasBegun, !stream.hasEnded, let text = stream.takeText(upTo: JointSending.longestPiece) else {
                return false
            }
            sending.add(text, to: socket.descriptor)
            return true
        }
        guard let response = answer.response, response.body.count <= JointSending.longestPiece else {
            owed.prepend(answer)
            return false
        }
        let keepsAlive = keepsAlive(after: response, answer.form, isLast: true, context)
        sending.add(response, answer.form, keepsAlive: keepsAlive, context, to: socket.descriptor)
        return true
    }
}
