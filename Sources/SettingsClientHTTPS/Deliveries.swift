internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import HTTPWire
internal import SettingsHTTP
internal import Synchronization

/// The delegate of a session: it hands what comes to the delivery of each task. The session calls it on a queue of its own.
final class Deliveries: NSObject, URLSessionDataDelegate {
    private let open = Mutex<[Int: Delivery]>([:])

    /// To be called before the task is started.
    func add(_ delivery: Delivery, of task: URLSessionTask) {
        open.withLock { $0[task.taskIdentifier] = delivery }
    }

    private func remove(_ task: URLSessionTask) -> Delivery? {
        open.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    /// Ends a task of which the session is to do nothing more. It is cancelled later, as the session may be waiting for
    /// what it has called here.
    private func end(_ task: URLSessionTask, _ result: (Delivery) -> Result<Response, CarrierFailure>) {
        guard let delivery = remove(task) else { return }
        DispatchQueue.global().async { task.cancel() }
        delivery.arrival(result(delivery))
    }

    // MARK: What comes

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

    // MARK: What is declined

    /// A redirection is an answer like any other.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// The answer that asks for a name and a password is one like any other, and is all there. The session would wait for
    /// them, or tell of a cancellation instead.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        end(task) { $0.result(nil, sentCount: 0) }
        completionHandler(.cancelAuthenticationChallenge, nil)
    }

    /// The session is about to send a body again, as the connection ended after it had taken some of it. It would take the
    /// rest only, and wait for an answer to that; and whether a write may be sent twice it does not ask.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        end(task) { _ in .failure(.lost("the connection ended")) }
        completionHandler(nil)
    }
}
