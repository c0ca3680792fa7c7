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

    /// - Parameter model: the codec of a key that says the same but for name and default, if there is one.
    init(
        _ key: DefaultsKey<Value>, like model: KeyCodec<Value>?, session: SuiteSession, arguments: LaunchArguments,
        readers: Readers
    ) {
        self.key = key
        var codec: Result<KeyCodec<Value>, DefaultsError>
        do {
            codec = .success(try KeyCodec(key, like: model))
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
        cell = (try? KeyName(key.name)).map { session.cell(for: $0) }
        var argument: Value?
        if case .success(let codec) = codec {
            for form in arguments.forms(of: key.name) where argument == nil { argument = try? codec.decode(form) }
        }
        self.argument = argument
        self.readers = readers
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
