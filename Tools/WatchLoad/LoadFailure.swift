/// Why nothing could be measured.
struct LoadFailure: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
