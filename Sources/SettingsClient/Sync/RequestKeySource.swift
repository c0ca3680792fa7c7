internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Names for writes: random once, then counted, so that no two are the same in any two programs.
struct RequestKeySource: ~Copyable, Sendable {
    private let prefix: String
    private let count = Atomic<UInt64>(0)

    init() {
        let random = UInt64.random(in: .min ... .max)
        let more = UInt32.random(in: .min ... .max)
        prefix = String(random, radix: 36) + String(more, radix: 36)
    }

    /// The next name.
    func next() -> RequestKey {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard let key = RequestKey("\(prefix)-\(String(number, radix: 36))") else {
            preconditionFailure("digits and a hyphen are printable, and at most 35 of them")
        }
        return key
    }
}
