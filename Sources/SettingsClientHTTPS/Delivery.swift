internal import Foundation
internal import FoundationNetworking
internal import HTTPWire
internal import SettingsHTTP

/// An answer that comes in parts, and the function that takes it.
struct Delivery: Sendable {
    typealias Arrival = @Sendable (Result<Response, CarrierFailure>) -> Void

    private static let longestBody = ResponseReader.usualLimits.maximumBodyLength

    let arrival: Arrival
    /// How long the body of a write is; nil if there is none.
    private let writeLength: Int?
    private var reply: Response?

    init(_ request: Request, _ arrival: @escaping Arrival) {
        self.arrival = arrival
        let length = request.body?.count ?? 0
        writeLength = request.isWrite && length > 0 ? length : nil
    }

    /// The head of the answer is there.
    mutating func begin(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        var fields = FieldBlock()
        for case (let name as String, let value as String) in response.allHeaderFields {
            fields.append(foreignName: name, text: value)
        }
        reply = Response(status: response.statusCode, fields: fields)
    }

    /// More of the body; false if it is too much.
    mutating func append(_ data: Data) -> Bool {
        guard let count = reply?.body.count, count + data.count <= Self.longestBody else { return false }
        reply?.body.append(contentsOf: data)
        return true
    }

    /// The failure of a body that `append` did not take.
    var excess: CarrierFailure { .malformed("the body has more than \(Self.longestBody) bytes") }

    /// The session is done with the request, having taken so many bytes of its body to send.
    func result(_ error: (any Error)?, sentCount: Int64) -> Result<Response, CarrierFailure> {
        guard let error else {
            return reply.map { .success($0) } ?? .failure(.broken("the request ended without an answer"))
        }
        let reason = error.localizedDescription
        // The count may be more than was sent, never less; and the end of the request is the end of its body.
        if let writeLength, sentCount < writeLength { return .failure(.notSent(reason)) }
        guard reply == nil else { return .failure(.broken(reason)) }
        return switch (error as? URLError)?.code {
        case .networkConnectionLost, .badServerResponse: .failure(.lost(reason))
        default: .failure(.broken(reason))
        }
    }
}
