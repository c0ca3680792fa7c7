import SettingsClient
import Synchronization

extension DefaultsUpdate {
    /// The update in short: `1→2`, `-→2` without the old value, `2` for an initial one.
    var told: String {
        isInitial ? Self.text(newValue) : "\(oldValue.map(Self.text) ?? "-")→\(Self.text(newValue))"
    }

    private static func text(_ value: Value) -> String {
        "\(value)".replacing("Optional(", with: "").replacing(")", with: "")
    }
}

/// Something that a test keeps for a handler.
final class Held<Value: Sendable>: Sendable {
    private let kept = Mutex<Value?>(nil)

    var value: Value? {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}
