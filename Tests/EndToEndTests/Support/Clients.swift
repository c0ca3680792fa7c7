import SettingsModel
import TestSupport
import Testing

/// Reports of clients about the suite `app`, and the clients of a suite.
extension TestDaemon {
    /// Sends a report of the client with this name. The report `{}` says only that the client is present.
    @discardableResult
    func report(_ name: String, _ body: String = "{}") throws -> RawResponse {
        try sendOK(Request("PUT app/clients/\(name) \(body)"))
    }

    /// Sends the report that the client has applied the state at this cursor.
    @discardableResult
    func report(_ name: String, applied cursor: String) throws -> RawResponse {
        try report(name, #"{"applied":"\#(cursor)"}"#)
    }

    /// The clients of a suite by name.
    func clients(_ query: String = "", of suite: String = "app") throws -> [String: JSONValue] {
        let listed = try sendOK(Request("GET \(suite)/clients\(query)")).json?["clients"]?.array ?? []
        return Dictionary(listed.map { ($0["name"]?.string ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The names and states of the clients, as `a:current b:behind`.
    func clientStates(_ query: String = "", of suite: String = "app") throws -> String {
        try clients(query, of: suite).map { "\($0):\($1["status"]?.string ?? "?")" }.sorted()
            .joined(separator: " ")
    }
}
