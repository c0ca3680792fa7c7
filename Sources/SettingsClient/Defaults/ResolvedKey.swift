internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// A key with its state in one adapter: the codec, the cell in the replica, and the last decoded value.
final class ResolvedKey<Value: DefaultsSerializable>: Sendable {
    let key: DefaultsKey<Value>
    let codec: Result<KeyCodec<Value>, DefaultsError>
    let cell: KeyCell?
    /// The value on the command line, which overrides the stored value.
    let argument: Value?
    /// The reason why the value on the command line is not a valid value of the key. Nil if it is valid or missing.
    let argumentProblem: InvalidValue?
    /// The result of comparing the key with the server's schema.
    let schemaComparison = Mutex(KeyComparison())
    /// The move of the value from a former name or type. Nil for a key without a former name and type.
    let valueMove: ValueMove?
    /// The cells of the former names.
    let formerCells: [KeyCell]

    private let lastReading = Mutex<CachedReading?>(nil)

    /// The problem that was reported last, with the stored value that it is about.
    private let reported = Mutex<(problem: DefaultsError, base: JSONValue?)?>(nil)

    /// - Parameter model: the codec of a key that differs only in its name and its default. Nil if there is no such
    ///   key.
    init(_ key: DefaultsKey<Value>, like model: KeyCodec<Value>?, session: SuiteSession, arguments: LaunchArguments) {
        self.key = key
        var codec: Result<KeyCodec<Value>, DefaultsError>
        do {
            codec = .success(try KeyCodec(key, like: model))
        } catch {
            codec = .failure(.unusableKey(key.name, error))
        }
        do {
            valueMove = try ValueMove(of: key)
        } catch {
            valueMove = nil
            if case .success = codec { codec = .failure(.unusableName(error)) }
        }
        self.codec = codec
        formerCells = valueMove?.formerNames.map { session.cell(for: $0) } ?? []
        cell = (try? KeyName(key.name)).map { session.cell(for: $0) }
        var argument: Value?
        var problem: InvalidValue?
        if case .success(let codec) = codec {
            for form in arguments.forms(of: key.name) where argument == nil {
                do {
                    argument = try codec.decode(form)
                } catch {
                    // The error of the last form is the most specific error, because text is tried before numbers.
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

    func cache(_ reading: CachedReading) {
        // The deinitializer of the old value may run code of the program, so the value is released without the lock.
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

    /// Returns true if the problem of a reading has not been reported for this stored value. A value may be read again,
    /// for example when its revision becomes known.
    func isNewProblem(_ reading: Reading<Value>) -> Bool {
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

/// Returns true if two values have the same JSON, or if both are stored as no value. Values that cannot be encoded
/// count as different.
func isSameJSON(_ one: Result<JSONValue?, DefaultsError>, _ other: Result<JSONValue?, DefaultsError>) -> Bool {
    if case .success(let one) = one, case .success(let other) = other { one == other } else { false }
}

/// The result of reading a key.
struct Reading<Value: DefaultsSerializable>: Sendable {
    /// The value. Nil if only the default of the key remains.
    var value: Value?
    /// The value of the replica at the time of the read: stored, or a default of the schema. The command line does not
    /// change it.
    var base: JSONValue?
    /// The reason why the stored value or a default could not be decoded.
    var problem: DefaultsError?
    /// True if the stored value could not be decoded. A value that was computed from a default must not overwrite it.
    var isStoredUnreadable = false
}
