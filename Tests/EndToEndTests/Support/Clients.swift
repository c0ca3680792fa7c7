import SettingsModel
import TestSupport
import Testing

/// Reports of clients, and the clients of the suite `app`.
extension TestDaemon {
    @discardableResult
    func report(_ name: String, _ body: String = "{}") throws -> RawResponse {
        try done(Request("PUT app/clients/\(name) \(body)"))
    }

    @discardableResult
    func report(_ name: String, applied cursor: String) throws -> RawResponse {
        try report(name, #"{"applied":"\#(cursor)"}"#)
    }

    /// The clients of the suite `app` by name.
    func clients(_ query: String = "", of suite: String = "app") throws -> [String: JSONValue] {
        let listed = try done(Request("GET \(suite)/clients\(query)")).json?["clients"]?.array ?? []
        return Dictionary(listed.map { ($0["name"]?.string ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The states of the clients, as `a:current b:behind`.
    func clientStates(_ query: String = "", of suite: String = "app") throws -> String {
        try clients(query, of: suite).map { "\($0):\($1["status"]?.string ?? "?")" }.sorted()
            .joined(separator: " ")
    }
}
