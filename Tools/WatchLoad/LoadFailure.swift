/// The reason why a measurement is impossible or not valid.
struct LoadFailure: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
