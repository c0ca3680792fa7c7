import SettingsAPI
import SettingsModel
import Testing

struct ErrorCodeTests {
    /// The codes in docs/reference/errors.md, by status.
    static let documented: [(status: Int, codes: Set<String>)] = [
        (400, ["bad_request"]), (401, ["unauthorized"]), (403, ["forbidden", "locked"]),
        (404, ["unknown_suite", "unknown_key", "not_set", "no_schema", "unknown_path", "unknown_pending"]),
        (405, ["method_not_allowed"]), (408, ["timeout"]),
        (409, ["schema_conflict", "changed_since", "invalid_stored", "pending_ended"]),
        (410, ["history_gone", "pending_ended"]), (412, ["precondition_failed"]), (413, ["too_large"]),
        (414, ["too_large"]),
        (415, ["unsupported_media_type"]), (421, ["misdirected"]),
        (422, ["invalid_value", "invalid_operation", "invalid_schema", "idempotency_mismatch", "unknown_key"]),
        (429, ["too_many_watchers", "too_many_connections", "too_many_requests"]), (431, ["too_large"]),
        (501, ["not_implemented"]), (503, ["shutting_down", "storage_failed", "overloaded", "behind"]),
        (505, ["http_version"]), (507, ["insufficient_storage"]),
    ]

    @Test("Each documented status has the documented codes", arguments: documented)
    func codes(status: Int, codes: Set<String>) {
        #expect(Set(ErrorCode.allCases.filter { $0.statuses.contains(status) }.map(\.rawValue)) == codes)
    }

    @Test("An undocumented status has no code, and each code is documented")
    func complete() {
        let statuses = Set(Self.documented.map(\.status))
        for status in 100..<600 where !statuses.contains(status) {
            #expect(ErrorCode.allCases.filter { $0.statuses.contains(status) }.isEmpty, "\(status)")
        }
        #expect(Set(ErrorCode.allCases.map(\.rawValue)) == Self.documented.reduce(into: []) { $0.formUnion($1.codes) })
    }

    @Test(
        "Each code has its default status first, each status once, and a title that no other code has",
        arguments: ErrorCode.allCases)
    func rows(code: ErrorCode) {
        #expect(code.statuses.first == code.defaultStatus)
        #expect(Set(code.statuses).count == code.statuses.count)
        #expect(!code.title.isEmpty)
        #expect(ErrorCode.allCases.filter { $0.title == code.title } == [code])
        #expect(ErrorCode(rawValue: code.rawValue) == code)
    }
}
