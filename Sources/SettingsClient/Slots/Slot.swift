public import SettingsModel
public import Synchronization

/// One key made ready: its codec, and the value that was decoded last.
///
/// Reading the value that was kept is compiled into the program that reads, where its type is known: generic code would
/// look up types at run time, for longer than all the rest of a read takes.
@usableFromInline
final class Slot<Value: DefaultsSerializable>: Sendable {
    let key: DefaultsKey<Value>
    let codec: Result<KeyCodec<Value>, DefaultsError>
    /// Nil if the key has no usable name.
    @usableFromInline let cell: KeyCell?
    /// What the command line says, which holds whatever is stored.
    let argument: Value?
    /// Whether the server's schema says the same of the key.
    let agreement = Mutex(KeyAgreement())
    /// Where the taking over from a former name stands; nil for a key that has none.
    let rename: RenameProgress?

    /// What was read last; nil for nothing.
    @usableFromInline let kept = Atomic<Unmanaged<KeptReading<Value>>?>(nil)
    @usableFromInline let readers: Readers

    init(_ key: DefaultsKey<Value>, replica: Replica, arguments: LaunchArguments, readers: Readers) {
        self.key = key
        self.readers = readers
        var codec: Result<KeyCodec<Value>, DefaultsError>
        do {
            codec = .success(try KeyCodec(key))
        } catch {
            codec = .failure(.unusableKey(key.name, error))
        }
        do {
            rename = try RenameMigration(of: key).map(RenameProgress.init)
        } catch {
            rename = nil
            if case .success = codec { codec = .failure(.unusableName(error)) }
        }
        self.codec = codec
        cell = (try? KeyName(key.name)).map { replica.cell(for: $0) }
        var argument: Value?
        if case .success(let codec) = codec {
            for form in arguments.forms(of: key.name) where argument == nil { argument = try? codec.decode(form) }
        }
        self.argument = argument
    }

    deinit {
        kept.load(ordering: .acquiring)?.release()
    }

    /// Reads JSON and writes it again, as the type does, within the key's limits.
    func normalized(_ json: JSONValue) throws(DefaultsError) -> JSONValue? {
        let codec = try codec.get()
        do {
            return try codec.encode(codec.decode(json))
        } catch {
            throw .invalid(error)
        }
    }

    func encode(_ value: Value) throws(DefaultsError) -> JSONValue? {
        let codec = try codec.get()
        do {
            return try codec.encode(value)
        } catch {
            throw .invalid(error)
        }
    }
}

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

/// What a read of a key came to.
@usableFromInline
struct Reading<Value: DefaultsSerializable>: Sendable {
    @usableFromInline var value: Value
    /// Whether the value is the key's own default, as no layer has one.
    @usableFromInline var isDefault = false
    /// The effective value on the server from which it was read, or over which it lies.
    var base: JSONValue?
    /// Why a layer could not be read.
    var problem: DefaultsError?
    /// Whether that layer is what is stored, which is then not overwritten by what was computed from another.
    var isStoredUnreadable = false
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
