import Foundation
import Platform
import SettingsAPI
import SettingsEngine
import SettingsStorage
import Synchronization
import TestSupport
import Testing

@testable import SettingsWeb

/// The daemon warns of tokens that expire within a week, and has the time of the next expiry in its metrics.
@Suite(.ownThread)
struct TokenExpiryTests {
    /// A day in milliseconds.
    private static let day: Int64 = 86_400_000
    private let directory: TemporaryDirectory
    private let file: String

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.path + "/tokens.json"
    }

    /// Creates a token that expires after this number of days; nil for a token without an expiry.
    private func create(_ name: String, days: Int64?, now: Timestamp = Timestamp(milliseconds: 0)) throws {
        _ = try TokenFile.change(at: file) { (tokens: inout TokenFile) throws(ConfigurationError) in
            let expires = days.map { Timestamp(milliseconds: now.milliseconds + $0 * Self.day) }
            return try tokens.create(name, [.everything], expires: expires, now: now)
        }
    }

    /// Returns the policy of a daemon on this day after 1970-01-01.
    private func policy(day: Int64) throws -> AccessPolicy {
        var options = AccessOptions()
        options.tokens = file
        return try AccessPolicy(options, clock: { Timestamp(milliseconds: day * Self.day) })
    }

    @Test("The warning and the next expiry omit tokens with a lifetime of at most a week and expired tokens")
    func warning() throws {
        for (name, days) in [("year", 365), ("month", 30), ("week", 7), ("forever", nil)] as [(String, Int64?)] {
            try create(name, days: days)
        }
        let rows: [(day: Int64, nextExpiryDay: Int64?, warning: String?)] = [
            (0, 30, nil), (22, 30, nil), (23, 30, "month at 1970-01-31T00:00:00.000Z"), (30, 365, nil),
            (364, 365, "year at 1971-01-01T00:00:00.000Z"), (365, nil, nil),
        ]
        for row in rows {
            let policy = try policy(day: row.day)
            #expect(policy.nextExpiry?.milliseconds == row.nextExpiryDay.map { $0 * Self.day }, "day \(row.day)")
            let warning = row.warning.map {
                "tokens expire within 7 days: \($0); create new tokens with settingsd token create"
            }
            #expect(policy.expiryWarning == warning, "day \(row.day)")
        }
    }

    @Test("The warning names ten tokens and the number of further tokens") func long() throws {
        for number in 0..<12 { try create("t\(number)", days: 8) }
        let warning = try #require(try policy(day: 7).expiryWarning)
        #expect(warning.contains(" and 2 more;"), "\(warning)")
        // Ten names mean ten separators and eleven components.
        #expect(warning.components(separatedBy: " at ").count == 11, "\(warning)")
    }

    @Test("A daemon warns of expiring tokens at its start and at a reload, and has the expiry in its metrics")
    func daemon() throws {
        let expires = Timestamp.now().milliseconds + 5 * Self.day
        try create("old", days: 30, now: Timestamp(milliseconds: expires - 30 * Self.day))
        let options = ["--access.tokens", file, "--log", "info"]
        // With this option, `/metrics` needs no token.
        let configuration = try directory.file("c.json", #"{"access":{"openMetrics":true}}"#)
        let daemon = try DaemonProcess(data: directory.path + "/data", options: options + ["--config", configuration])
        _ = try daemon.process.line(containing: "warning tokens expire within 7 days: old at ")
        let client = try RawClient(port: daemon.port)
        try client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let metrics = try client.readResponse().text
        #expect(metrics.contains("\nsettingsd_token_expiry_timestamp_seconds \(expires / 1000)\n"), "\(metrics)")
        try create("second", days: 30, now: Timestamp(milliseconds: expires - 29 * Self.day))
        daemon.process.signal(SIGHUP)
        _ = try daemon.process.line(containing: ", second at ")
        try daemon.stop()
    }
}
