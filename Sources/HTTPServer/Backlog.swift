internal import HTTPWire
internal import Platform

/// The received bytes of a connection that were not passed to the handler yet: an incomplete request, or requests that
/// must wait. A connection has a backlog only while it has bytes of this kind.
///
/// Owned by the event loop. `deinit` removes a body from the `UploadQueue`, in which large bodies wait for memory.
final class Backlog {
    /// The reason why the first request of the backlog waits.
    enum WaitReason {
        /// The request is incomplete and waits for more bytes.
        case bytes
        /// The request waits until all earlier requests are answered.
        case answers
        /// The request waits because the connection has too many pending answers, has unsent bytes, or is postponed to
        /// a later iteration of the event loop.
        case readyConnection
        /// The request waits for memory for its large body. The connection is not read while the request waits.
        case memory
    }

    /// The bytes, which begin with the first byte of a request.
    private(set) var bytes: [UInt8]
    /// The parser, which has parsed a part of the first request.
    var parser: MessageParser
    var waitReason: WaitReason
    /// True if bytes were received since the parser last ran.
    var hasUnparsedBytes = false
    /// True if `100 Continue` was sent for the first request.
    var hasSentContinue = false
    /// Checks that the bytes of the request arrive at least at the minimum rate.
    private(set) var rate: MinimumRate
    /// The part of the memory budget that covers the backlog. If a large body was admitted, this is the reservation of
    /// `upload`.
    private var charge: MemoryBudget.Reservation
    /// The admission of a large body; nil until the body is admitted.
    private var upload: Upload?
    /// The size in bytes for which admission was requested last; 0 if no admission was requested. The reservation may
    /// be smaller than this size: it is at most the part of the memory budget that the `UploadQueue` may use.
    private var requestedBytes = 0
    /// The client whose body waits for memory; nil if the body does not wait.
    private var waitingClient: ClientKey?
    private let connection: UploadQueue.ConnectionID
    private unowned let context: LoopContext

    /// The maximum length in bytes of a request that needs no admission: the maximum length of one read.
    private static let smallRequest = LoopContext.readSize
    /// The bytes that are first reserved for a chunked body, whose length is unknown. If the body becomes longer, the
    /// backlog requests admission again, for the longest permitted body.
    private static let chunkedBodyBytes = 2 << 20

    init(
        _ bytes: Span<UInt8>, _ parser: MessageParser, _ waitReason: WaitReason, of connection: UInt64,
        _ context: LoopContext
    ) {
        self.bytes = bytes.withUnsafeBufferPointer { Array($0) }
        self.parser = parser
        self.waitReason = waitReason
        self.connection = UploadQueue.ConnectionID(loop: context.loop.index, identifier: connection)
        self.context = context
        rate = MinimumRate(at: context.now)
        charge = context.budget.charge(bytes.count)
        context.backlogCount += 1
    }

    deinit {
        stopWaitingForMemory()
        context.backlogCount -= 1
    }

    /// The bytes of the memory budget that the backlog uses: for the received and the decoded bytes, or for the whole
    /// body after its admission.
    var chargedBytes: Int { charge.bytes }

    func append(_ more: UnsafeBufferPointer<UInt8>, at now: UInt64) {
        rate.recordTransfer(of: more.count, at: now)
        let count = bytes.count + more.count
        if count > bytes.capacity {
            // Copying megabytes takes milliseconds. After a sixteenth of the request was received, reserve capacity for
            // the whole request, and for one read of the next request. The kernel allocates no pages for unused
            // capacity.
            let length = parser.messageLength ?? parser.maximumMessageLength
            let reservesAll = length / 16 <= count
            bytes.reserveCapacity(max(count, reservesAll ? length + LoopContext.readSize : 2 * bytes.capacity))
        }
        bytes.append(contentsOf: more)
        charge.resize(to: max(count + parser.decodedLength, upload?.bytes ?? 0))
    }

    /// The memory that the `UploadQueue` must admit before more of the request is read; nil if no admission is needed.
    var missingMemory: Int? {
        guard parser.headIsComplete else { return nil }
        var needed = 0
        if let length = parser.messageLength {
            if length > Self.smallRequest { needed = length + LoopContext.readSize }
        } else if chargedBytes > Self.smallRequest {
            // If the next read could exceed the first reservation, reserve memory for the longest permitted body. The
            // bytes of a chunked body are kept twice: as received, and decoded.
            let mayExceedFirstReservation = chargedBytes > Self.chunkedBodyBytes - LoopContext.readSize
            needed = mayExceedFirstReservation ? 2 * parser.maximumMessageLength : Self.chunkedBodyBytes
        }
        return needed > requestedBytes ? needed : nil
    }

    /// Asks the `UploadQueue` to admit a large body. If the queue does not admit the body at once, the body waits in
    /// the queue.
    func awaitMemory(_ bytes: Int, from client: ClientKey) {
        if upload != nil {
            // A longer chunked body needs a new admission. First return the reservation of the previous admission, so
            // that the body does not wait for its own memory.
            upload = nil
            charge = context.budget.charge(chargedBytes)
        }
        requestedBytes = bytes
        if let upload = context.uploads.admit(bytes, from: client) { return resume(upload) }
        context.uploads.append(bytes, from: client, on: connection)
        context.waitingUploadCount += 1
        waitingClient = client
        waitReason = .memory
    }

    /// Continues to receive a body that the `UploadQueue` has admitted.
    func resume(_ upload: Upload) {
        if waitingClient != nil { context.waitingUploadCount -= 1 }
        waitingClient = nil
        self.upload = upload
        upload.reservation.resize(to: max(chargedBytes, upload.bytes))
        charge = upload.reservation
        rate = MinimumRate(at: context.now)
        waitReason = .bytes
        hasUnparsedBytes = true
    }

    private func stopWaitingForMemory() {
        guard let waitingClient else { return }
        context.uploads.remove(connection, of: waitingClient)
        context.waitingUploadCount -= 1
        self.waitingClient = nil
    }

    /// Removes the bytes of requests that were passed to the handler.
    func removeFirst(_ count: Int) {
        rate = MinimumRate(at: context.now)
        bytes = Array(bytes[count...])
        hasSentContinue = false
        (upload, requestedBytes) = (nil, 0)
        charge = context.budget.charge(bytes.count)
    }

    /// Returns the body of the request whose first byte is at the index `start` of `bytes`, without a copy, and with
    /// the reservation of its memory. Returns nil if the body is smaller than `LoopContext.readSize`.
    func largeBody(_ body: MessageBody, from start: Int) -> LargeBody? {
        switch body {
        case .inPlace(let range) where range.count >= LoopContext.readSize:
            LargeBody(bytes, start + range.lowerBound..<start + range.upperBound, charge, upload)
        case .decoded(let body) where body.count >= LoopContext.readSize: LargeBody(body, body.indices, charge, upload)
        case .none, .inPlace, .decoded: nil
        }
    }
}
