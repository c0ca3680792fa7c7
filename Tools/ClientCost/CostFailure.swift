/// The reason why a measurement is impossible or not valid.
struct CostFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
