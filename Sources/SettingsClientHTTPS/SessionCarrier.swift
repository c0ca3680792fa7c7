internal import Foundation
internal import FoundationNetworking
internal import HTTPWire
internal import SettingsHTTP

/// A carrier that sends requests over one session for the whole process.
struct SessionCarrier: Carrier {
    private let session: URLSession
    private let deliveries = Deliveries()

    /// Longer than any request: the caller keeps the deadlines. Foundation counts it in milliseconds, which bounds it.
    private static let patience: TimeInterval = 10_000_000

    init() {
        let settings = URLSessionConfiguration.ephemeral
        settings.urlCache = nil
        settings.urlCredentialStorage = nil
        settings.httpCookieStorage = nil
        settings.httpCookieAcceptPolicy = .never
        settings.httpShouldSetCookies = false
        settings.timeoutIntervalForRequest = Self.patience
        settings.timeoutIntervalForResource = Self.patience
        // Each followed suite has a request on its way all the time, and none may wait for another.
        settings.httpMaximumConnectionsPerHost = 10_000
        session = URLSession(configuration: settings, delegate: deliveries, delegateQueue: nil)
    }

    func carry(
        _ request: Request, to server: String,
        arrival: @escaping @Sendable (Result<Response, CarrierFailure>) -> Void
    ) -> @Sendable () -> Void {
        guard let url = URL(string: server + request.target.text) else {
            arrival(.failure(.notSent("\(server)\(request.target.text) is no URL")))
            return {}
        }
        let task = session.dataTask(with: Self.message(request, url))
        deliveries.add(Delivery(request, arrival), of: task)
        task.resume()
        return { task.cancel() }
    }

    private static func message(_ request: Request, _ url: URL) -> URLRequest {
        var message = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: patience)
        message.httpMethod = "\(request.method.text)"
        for field in request.fields.all { message.setValue(field.value, forHTTPHeaderField: field.name) }
        // A proxy that compresses weakens the tags of answers.
        message.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        if let body = request.body {
            message.httpBody = Data(body)
            message.setValue("application/json", forHTTPHeaderField: "Content-Type")
        } else if !request.isRepeatable {
            // The session sends it again by itself if a connection that was kept turns out to be closed.
            message.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        }
        return message
    }
}
