public import SettingsModel
public import Synchronization

/// What was read, and when. It never changes.
@usableFromInline
final class KeptReading<Value: DefaultsSerializable>: Sendable {
    /// Of the cell when the reading was made.
    @usableFromInline let version: UInt64
    @usableFromInline let reading: Reading<Value>

    init(version: UInt64, reading: Reading<Value>) {
        self.version = version
        self.reading = reading
    }
}

/// What was read last, for readers without a lock: the pointer is loaded and what it leads to used while they are counted.
extension Slot {
    /// The value, if nothing changed since it was decoded.
    @inlinable
    var cachedValue: Value? {
        guard let version = cell?.version else { return nil }
        return readers.read {
            kept.load(ordering: .sequentiallyConsistent)?._withUnsafeGuaranteedRef {
                $0.version == version ? .some($0.reading.value) : nil
            }
        }
    }

    /// The value, or this one in place of the default, if nothing changed since it was decoded.
    @inlinable
    func cachedValue(orDefault defaultValue: @autoclosure () -> Value) -> Value? {
        guard let version = cell?.version else { return nil }
        return readers.read {
            kept.load(ordering: .sequentiallyConsistent)?._withUnsafeGuaranteedRef {
                guard $0.version == version else { return nil }
                return $0.reading.isDefault ? defaultValue() : $0.reading.value
            }
        }
    }

    /// The reading, if nothing changed since it was made.
    var cachedReading: Reading<Value>? {
        guard let version = cell?.version else { return nil }
        return readers.read {
            kept.load(ordering: .sequentiallyConsistent)?._withUnsafeGuaranteedRef {
                $0.version == version ? $0.reading : nil
            }
        }
    }

    func keep(_ reading: Reading<Value>, version: UInt64) {
        let new = Unmanaged.passRetained(KeptReading(version: version, reading: reading))
        guard let old = kept.exchange(new, ordering: .sequentiallyConsistent) else { return }
        readers.letGo(of: old.takeRetainedValue())
    }
}
