internal import HTTPWire
internal import Platform

/// Received bytes of a connection that the handler has not got yet: an incomplete request, or complete requests that must wait. A connection
/// without such bytes has no backlog.
///
/// Owned by the event loop. When a backlog with a body that waits for memory is deallocated, the body leaves the `UploadQueue`.
final class Backlog {
    /// What the first request of the backlog waits for.
    enum Waiting {
        /// For more bytes: the request is incomplete.
        case bytes
        /// For the answers to all earlier requests.
        case answers
        /// For fewer unanswered requests, or for answers that are not sent yet.
        case room
        /// For memory for its large body. The connection is not read until then.
        case memory
    }

    /// Begins with the first byte of a request.
    private(set) var bytes: [UInt8]
    /// The state of parsing that request.
    var parser: MessageParser
    var waiting: Waiting
    /// True if bytes were received since the parser last ran.
    var isFresh = false
    /// True if the peer was asked to send the body (`100 Continue`).
    var isContinued = false
    /// The rate at which the bytes of the request are received.
    private(set) var rate: MinimumRate
    /// The memory of the bytes: the reservation of the upload once the body is admitted.
    private var charge: MemoryBudget.Reservation
    /// The admission of a large body; nil until the body is admitted.
    private var upload: Upload?
    /// The bytes that admission was asked for. A body that is larger than all memory for bodies is admitted with less.
    private var requestedBytes = 0
    /// The client in whose queue the body waits for memory.
    private var waitingClient: ClientKey?
    private let connection: UploadQueue.ConnectionID
    private unowned let context: LoopContext

    /// A longer request needs memory before more of it is read.
    private static let smallRequest = LoopContext.readSize
    /// The memory that is first reserved for a chunked body, whose length is not known. A body that needs more is admitted again.
    private static let chunkedBodyBytes = 2 << 20

    init(
        _ bytes: Span<UInt8>, _ parser: MessageParser, _ waiting: Waiting, of connection: UInt64,
        _ context: LoopContext
    ) {
        self.bytes = bytes.withUnsafeBufferPointer { Array($0) }
        self.parser = parser
        self.waiting = waiting
        self.connection = UploadQueue.ConnectionID(loop: context.loop.index, name: connection)
        self.context = context
        rate = MinimumRate(at: context.now)
        charge = context.budget.charge(bytes.count)
        context.backlogs += 1
    }

    deinit {
        stopWaiting()
        context.backlogs -= 1
    }

    /// The memory of the backlog.
    var size: Int { charge.bytes }

    /// Adds received bytes.
    func append(_ more: UnsafeBufferPointer<UInt8>, at now: UInt64) {
        rate.add(more.count, at: now)
        let count = bytes.count + more.count
        if count > bytes.capacity {
            // Copying some megabytes takes milliseconds. So once a sixteenth of the request is there, the array gets capacity for all of it, and
            // for what is read of the next request. Capacity without bytes takes no memory.
            let length = parser.messageLength ?? parser.maximumMessageLength
            let reservesAll = length / 16 <= count
            bytes.reserveCapacity(max(count, reservesAll ? length + LoopContext.readSize : 2 * bytes.capacity))
        }
        bytes.append(contentsOf: more)
        charge.resize(to: max(count + parser.decodedLength, upload?.bytes ?? 0))
    }

    /// The memory that must be admitted before more of the request is read; nil if no more memory is needed.
    var missingMemory: Int? {
        guard parser.headIsComplete else { return nil }
        var needed = 0
        if let length = parser.messageLength {
            if length > Self.smallRequest { needed = length + LoopContext.readSize }
        } else if size > Self.smallRequest {
            // The bytes of a chunked body are kept twice, as received and decoded.
            let isLarge = size > Self.chunkedBodyBytes - LoopContext.readSize
            needed = isLarge ? 2 * parser.maximumMessageLength : Self.chunkedBodyBytes
        }
        return needed > requestedBytes ? needed : nil
    }

    /// Admits a large body, or queues the body until there is memory.
    func awaitMemory(_ bytes: Int, from client: ClientKey) {
        if upload != nil {
            // A chunked body is longer than expected. While it waits, it must not take a part of the memory that it waits for.
            upload = nil
            charge = context.budget.charge(size)
        }
        requestedBytes = bytes
        if let upload = context.uploads.admit(bytes, from: client) { return resume(upload) }
        context.uploads.append(bytes, from: client, on: connection)
        context.waitingUploads += 1
        waitingClient = client
        waiting = .memory
    }

    /// Continues with a body that was admitted.
    func resume(_ upload: Upload) {
        if waitingClient != nil { context.waitingUploads -= 1 }
        waitingClient = nil
        self.upload = upload
        upload.reservation.resize(to: max(size, upload.bytes))
        charge = upload.reservation
        rate = MinimumRate(at: context.now)
        waiting = .bytes
        isFresh = true
    }

    private func stopWaiting() {
        guard let waitingClient else { return }
        context.uploads.remove(connection, of: waitingClient)
        context.waitingUploads -= 1
        self.waitingClient = nil
    }

    /// Removes the bytes of requests that the handler has got.
    func removeFirst(_ count: Int) {
        rate = MinimumRate(at: context.now)
        bytes = Array(bytes[count...])
        isContinued = false
        (upload, requestedBytes) = (nil, 0)
        charge = context.budget.charge(bytes.count)
    }

    /// Returns the body of a complete request without copying it, if the body is larger than a read buffer.
    func largeBody(_ body: MessageBody, from start: Int) -> LargeBody? {
        switch body {
        case .inPlace(let range) where range.count >= LoopContext.readSize:
            LargeBody(bytes, start + range.lowerBound..<start + range.upperBound, charge, upload)
        case .decoded(let body) where body.count >= LoopContext.readSize: LargeBody(body, body.indices, charge, upload)
        case .none, .inPlace, .decoded: nil
        }
    }
}
