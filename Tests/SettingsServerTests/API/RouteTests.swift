import HTTPWire
import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

@Suite(.ownThread)
struct RouteTests {
    static let places: [(path: String, resource: Resource, suite: String?, key: String?)] = [
        ("/v1", .service, nil, nil), ("/v1/suites", .suites, nil, nil), ("/v1/suites/app", .suite, "app", nil),
        ("/v1/suites/keys", .suite, "keys", nil), ("/v1/suites/app/keys", .keys, "app", nil),
        ("/v1/suites/app/schema", .schema, "app", nil), ("/v1/suites/app/keys/a", .setting, "app", "a"),
        ("/v1/suites/app/keys/a%2Fb", .setting, "app", "a%2Fb"), ("/v1/suites/%61/keys/%61", .setting, "%61", "%61"),
        ("/v1/suites/app/keys/schema", .setting, "app", "schema"), ("/v1/transaction", .transaction, nil, nil),
        ("/healthz", .health, nil, nil), ("/readyz", .ready, nil, nil), ("/metrics", .metrics, nil, nil),
        ("/openapi.json", .description, nil, nil),
    ]

    @Test("A path leads to a resource, with the names as they were sent", arguments: places)
    func place(path: String, resource: Resource, suite: String?, key: String?) {
        let bytes = Array(path.utf8)
        let route = Route(0..<bytes.count, in: bytes.span)
        #expect(route?.resource == resource)
        #expect(route?.suite.map { String(decoding: bytes[$0], as: UTF8.self) } == suite)
        #expect(route?.key.map { String(decoding: bytes[$0], as: UTF8.self) } == key)
    }

    @Test(
        "Any other path leads nowhere",
        arguments: [
            "/", "//", "*", "/v", "/v1/", "/v1//", "/v11", "/V1", "/v1/suite", "/v1/suites/", "/v1/suites//keys",
            "/v1/suites/app/", "/v1/suites/app/key", "/v1/suites/app/keys/", "/v1/suites/app/keys/a/",
            "/v1/suites/app/keys/a/b", "/v1/suites/app/schema/", "/v1/transaction/", "/v1/transactions", "/healthz/",
            "/health", "/openapi", "/v1/healthz", "/v1%2Fsuites",
        ])
    func nowhere(path: String) {
        let bytes = Array(path.utf8)
        #expect(Route(0..<bytes.count, in: bytes.span) == nil)
    }

    @Test("A route is found anywhere in the bytes")
    func offset() {
        let bytes = Array("GET /v1/suites/app/keys/a HTTP/1.1".utf8)
        let route = Route(4..<25, in: bytes.span)
        #expect(route?.resource == .setting)
        #expect(route?.key == 24..<25)
    }

    @Test("Every resource is found at its own path", arguments: Resource.allCases)
    func templates(resource: Resource) {
        let bytes = Array(resource.rawValue.utf8)
        #expect(Route(0..<bytes.count, in: bytes.span)?.resource == resource)
    }
}
