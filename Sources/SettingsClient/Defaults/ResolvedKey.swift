internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// A key resolved for one adapter: its codec, its cell in the replica, and the value that was decoded last.
final class ResolvedKey<Value: DefaultsSerializable>: Sendable {
    let key: DefaultsKey<Value>
    let codec: Result<KeyCodec<Value>, DefaultsError>
    let cell: KeyCell?
    /// The value on the command line, which holds whatever is stored.
    let argument: Value?
    /// The reason why the value on the command line is no value of the key. Nil if it is a value, or if there is none.
    let argumentProblem: InvalidValue?
    /// The result of comparing the key with the server's schema.
    let agreement = Mutex(KeyAgreement())
    /// The state of taking over the value of a former name; nil for a key that has none.
    let rename: RenameTakeover?
    /// The cells of the former names.
    let formerCells: [KeyCell]

    private let lastReading = Mutex<CachedReading?>(nil)

    /// The problem that was reported last, with the stored value that it is about.
    private let reported = Mutex<(problem: DefaultsError, base: JSONValue?)?>(nil)

    /// - Parameter model: the codec of a key that differs only in name and default, if there is one.
    init(_ key: DefaultsKey<Value>, like model: KeyCodec<Value>?, session: SuiteSession, arguments: LaunchArguments) {
        self.key = key
        var codec: Result<KeyCodec<Value>, DefaultsError>
        do {
            codec = .success(try KeyCodec(key, like: model))
        } catch {
            codec = .failure(.unusableKey(key.name, error))
        }
        do {
            rename = try RenameTakeover(of: key)
        } catch {
            rename = nil
            if case .success = codec { codec = .failure(.unusableName(error)) }
        }
        self.codec = codec
        formerCells = rename?.formerNames.map { session.cell(for: $0) } ?? []
        cell = (try? KeyName(key.name)).map { session.cell(for: $0) }
        var argument: Value?
        var problem: InvalidValue?
        if case .success(let codec) = codec {
            for form in arguments.forms(of: key.name) where argument == nil {
                do {
                    argument = try codec.decode(form)
                } catch {
                    // The error about the last form is the most specific error: a number is tried after a text.
                    problem = error
                }
            }
        }
        self.argument = argument
        argumentProblem = argument == nil ? problem : nil
    }

    /// Nil if the key has no usable name.
    var name: KeyName? { cell?.name }

    /// The last reading, if it is still valid.
    var cached: CachedReading? {
        guard let reading = lastReading.withLock({ $0 }), reading.isValid else { return nil }
        return reading
    }

    func keep(_ reading: CachedReading) {
        // The old value may run code of the program when it is freed: not under the lock.
        let old = lastReading.withLock { last in
            defer { last = reading }
            return last
        }
        withExtendedLifetime(old) {}
    }

    /// Registers a read of the key for Swift's Observation. Called before the read.
    func registerRead() {
        cell?.tracker.registerRead()
    }

    /// Returns true if the problem of a reading has not been reported for this stored value. A value may be read again, for
    /// example when its revision becomes known.
    func isNews(_ reading: Reading<Value>) -> Bool {
        reported.withLock { reported in
            guard let problem = reading.problem else {
                reported = nil
                return false
            }
            let isKnown = reported.map { $0.problem == problem && $0.base == reading.base } ?? false
            reported = (problem, reading.base)
            return !isKnown
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

    func encoded(_ value: Value) -> Result<JSONValue?, DefaultsError> {
        Result { () throws(DefaultsError) in try encode(value) }
    }
}

/// True if two values have the same JSON, or both have none. Those of which one cannot be written are taken to differ.
func isSameJSON(_ one: Result<JSONValue?, DefaultsError>, _ other: Result<JSONValue?, DefaultsError>) -> Bool {
    if case .success(let one) = one, case .success(let other) = other { one == other } else { false }
}

/// The outcome of reading a key.
struct Reading<Value: DefaultsSerializable>: Sendable {
    /// Nil if no layer has a value, so that the key's own default holds.
    var value: Value?
    /// The effective value on the server from which this was read, or over which it lies.
    var base: JSONValue?
    /// The reason why a layer could not be read.
    var problem: DefaultsError?
    /// True if that layer is the stored one: a value computed from another layer must not overwrite it.
    var isStoredUnreadable = false
}
