import SettingsClient
import Synchronization

extension DefaultsUpdate {
    /// A short description: `1→2`, `-→2` without the old value, or `2` for an initial update.
    var summary: String {
        isInitial ? Self.text(newValue) : "\(oldValue.map(Self.text) ?? "-")→\(Self.text(newValue))"
    }

    private static func text(_ value: Value) -> String {
        "\(value)".replacing("Optional(", with: "").replacing(")", with: "")
    }
}

/// A value that a test and a handler share. Nil at first.
final class Shared<Value: Sendable>: Sendable {
    private let storage = Mutex<Value?>(nil)

    var value: Value? {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
