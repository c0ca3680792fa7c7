internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import HTTPWire
internal import SettingsHTTP
internal import Synchronization

/// The delegate of the session, which collects the answer of each task. The session calls it on a queue of its own.
final class Deliveries: NSObject, URLSessionDataDelegate {
    private let open = Mutex<[Int: Delivery]>([:])

    /// Adds a task before it is started.
    func add(_ delivery: Delivery, of task: URLSessionTask) {
        open.withLock { $0[task.taskIdentifier] = delivery }
    }

    private func remove(_ task: URLSessionTask) -> Delivery? {
        open.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    /// Ends a task early. It is cancelled on another queue, as the session may be waiting for this call.
    private func end(_ task: URLSessionTask, _ result: (Delivery) -> Result<Response, CarrierFailure>) {
        guard let delivery = remove(task) else { return }
        DispatchQueue.global().async { task.cancel() }
        delivery.arrival(result(delivery))
    }

    // MARK: Answers

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        open.withLock { $0[dataTask.taskIdentifier]?.begin(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let fits = open.withLock { $0[dataTask.taskIdentifier]?.append(data) ?? true }
        if !fits { end(dataTask) { .failure($0.excess) } }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let delivery = remove(task) else { return }
        delivery.arrival(delivery.result(error, sentCount: task.countOfBytesSent))
    }

    // MARK: Declined

    /// A redirection is an answer like any other.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// An answer that asks for a name and a password is complete. The session would wait for them, or report a cancellation.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        end(task) { $0.result(nil, sentCount: 0) }
        completionHandler(.cancelAuthenticationChallenge, nil)
    }

    /// The session wants to send a body again after the connection has ended. It would send only the rest, and it does not
    /// ask if a write may be sent twice.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        end(task) { _ in .failure(.lost("the connection ended")) }
        completionHandler(nil)
    }
}

/// An answer that comes in parts, with the function that takes it.
struct Delivery: Sendable {
    typealias Arrival = @Sendable (Result<Response, CarrierFailure>) -> Void

    private static let longestBody = ResponseReader.defaultLimits.maximumBodyLength

    let arrival: Arrival
    /// The length of the body of a write; nil if there is none.
    private let writeLength: Int?
    private var reply: Response?

    init(_ request: Request, _ arrival: @escaping Arrival) {
        self.arrival = arrival
        let length = request.body?.count ?? 0
        writeLength = request.isWrite && length > 0 ? length : nil
    }

    /// Takes the head of the answer.
    mutating func begin(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        var fields = FieldBlock()
        for case (let name as String, let value as String) in response.allHeaderFields {
            fields.append(untrustedName: name, text: value)
        }
        reply = Response(status: response.statusCode, fields: fields)
    }

    /// Takes a part of the body; false if it is too long.
    mutating func append(_ data: Data) -> Bool {
        guard let count = reply?.body.count, count + data.count <= Self.longestBody else { return false }
        reply?.body.append(contentsOf: data)
        return true
    }

    /// The failure of a body that `append` did not take.
    var excess: CarrierFailure { .malformed("the body has more than \(Self.longestBody) bytes") }

    /// Returns the result when the session has ended the request.
    func result(_ error: (any Error)?, sentCount: Int64) -> Result<Response, CarrierFailure> {
        guard let error else {
            return reply.map { .success($0) } ?? .failure(.broken("the request ended without an answer"))
        }
        let reason = error.localizedDescription
        // The count is never less than what was sent, and a request without the end of its body is not done.
        if let writeLength, sentCount < writeLength { return .failure(.notSent(reason)) }
        guard reply == nil else { return .failure(.broken(reason)) }
        return switch (error as? URLError)?.code {
        case .networkConnectionLost, .badServerResponse: .failure(.lost(reason))
        default: .failure(.broken(reason))
        }
    }
}
