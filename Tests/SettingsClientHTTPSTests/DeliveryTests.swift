import Foundation
import FoundationNetworking
import HTTPWire
import TestSupport
import Testing

@testable import SettingsClientHTTPS
@testable import SettingsHTTP

/// The results of ended requests, without a session.
@Suite(.ownThread)
struct DeliveryTests {
    private static let read = Request(.get, RequestTarget("v1"))
    private static let write = Request(.put, RequestTarget("v1", "suites", "app"), body: [1, 2, 3])
    private static let removal = Request(.delete, RequestTarget("v1", "suites", "app"))

    private static let lost = URLError(.networkConnectionLost)
    private static let refused = URLError(.cannotConnectToHost)

    /// The kind of a failure, without its words.
    enum Kind: Sendable {
        case answer, notSent, lost, broken
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        let request: Request
        var hasHead = false
        let error: URLError?
        var sentCount: Int64 = 0
        let kind: Kind
    }

    static let rows = [
        Row(testDescription: "an answer", request: read, hasHead: true, error: nil, kind: .answer),
        Row(testDescription: "an end without anything", request: read, error: nil, kind: .broken),
        Row(testDescription: "a read that was lost", request: read, error: lost, kind: .lost),
        Row(testDescription: "a read of nobody", request: read, error: refused, kind: .broken),
        Row(testDescription: "an answer that breaks off", request: read, hasHead: true, error: lost, kind: .broken),
        Row(testDescription: "nothing of a body", request: write, error: lost, sentCount: 0, kind: .notSent),
        Row(testDescription: "a part of a body", request: write, error: lost, sentCount: 2, kind: .notSent),
        Row(testDescription: "all of a body", request: write, error: lost, sentCount: 3, kind: .lost),
        Row(
            testDescription: "all of it, and no reason known", request: write, error: refused, sentCount: 3,
            kind: .broken),
        Row(
            testDescription: "a part of it, and an answer that breaks off", request: write, hasHead: true, error: lost,
            sentCount: 2, kind: .notSent),
        // Without a body nothing is counted.
        Row(testDescription: "a removal", request: removal, error: lost, kind: .lost),
        Row(testDescription: "a removal of nobody", request: removal, error: refused, kind: .broken),
    ]

    @Test("A failure of the session says if the request may have been done", arguments: rows)
    func failureToldWhatKnown(row: Row) throws {
        var delivery = Delivery(row.request) { _ in }
        if row.hasHead { delivery.begin(try Self.head()) }
        let kind: Kind? =
            switch delivery.result(row.error, sentCount: row.sentCount) {
            case .success: .answer
            case .failure(.notSent): .notSent
            case .failure(.lost): .lost
            case .failure(.broken): .broken
            case .failure(.malformed): nil
            }
        #expect(kind == row.kind)
    }

    private static func head() throws -> HTTPURLResponse {
        let url = try #require(URL(string: "https://settings.example/v1"))
        return try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["ETag": "\"1\""]))
    }

    @Test("A body is put together from its parts, behind a head only") func bodyPutTogetherFrom() throws {
        var delivery = Delivery(Self.read) { _ in }
        let early = delivery.append(Data([1]))
        #expect(!early)
        delivery.begin(try Self.head())
        for part in [Data([1, 2]), Data(), Data([3])] {
            let isTaken = delivery.append(part)
            #expect(isTaken)
        }
        let reply = try delivery.result(nil, sentCount: 0).get()
        #expect(reply.status == 200 && reply.body == [1, 2, 3])
        #expect(reply.fields.value(of: "etag") == "\"1\"")
        guard case .malformed(let reason) = delivery.excess else {
            Issue.record("\(delivery.excess)")
            return
        }
        #expect(reason.contains("\(ResponseReader.defaultLimits.maximumBodyLength)"))
    }
}
