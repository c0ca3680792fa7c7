internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// A key with its state in one adapter: the codec, the cell in the replica, the argument on the command line, and the
/// last decoded value.
final class ResolvedKey<Value: DefaultsSerializable>: Sendable {
    let key: DefaultsKey<Value>
    let codec: Result<KeyCodec<Value>, DefaultsError>
    /// The cell of the key in the replica: the version of cached values, and the tracker for Observation. Nil if the
    /// name of the key is not a valid key name.
    let cell: KeyCell?
    /// The value on the command line, which overrides the stored value.
    let argument: Value?
    /// The reason why the value on the command line is not a valid value of the key. Nil if it is valid or missing.
    let argumentProblem: InvalidValue?
    /// The last comparison of the key with the schema of the daemon.
    let schemaComparison = Mutex(KeyComparison())
    /// The move of the value from a former name or type. Nil for a key without a former name and without a
    /// former type.
    let valueMove: ValueMove?
    /// The cells of the former names.
    let formerCells: [KeyCell]

    private let lastReading = Mutex<CachedReading?>(nil)

    /// The problem of the last reading, with the JSON in the replica at the time of the reading. Nil if the last
    /// reading had no problem.
    private let reported = Mutex<(problem: DefaultsError, replicaJSON: JSONValue?)?>(nil)

    /// - Parameter model: the codec of another key with the same type, if neither key has rules. Nil if there is no
    ///   such codec.
    init(
        _ key: DefaultsKey<Value>, sharingSchemaOf model: KeyCodec<Value>?, session: SuiteSession,
        arguments: LaunchArguments
    ) {
        self.key = key
        var codec: Result<KeyCodec<Value>, DefaultsError>
        do {
            codec = .success(try KeyCodec(key, sharingSchemaOf: model))
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
        var problem = arguments.syntaxProblem(of: key.name)
        if case .success(let codec) = codec {
            for candidate in arguments.candidates(for: key.name) where argument == nil {
                do {
                    argument = try codec.decode(candidate)
                } catch {
                    // The error of the last candidate is the most specific error, because text is tried before numbers.
                    problem = error
                }
            }
        }
        self.argument = argument
        argumentProblem = argument == nil ? problem : nil
    }

    /// Nil if the name of the key is not a valid key name.
    var name: KeyName? { cell?.name }

    /// The last reading, if it is still valid.
    var cachedReading: CachedReading? {
        guard let reading = lastReading.withLock({ $0 }), reading.isValid else { return nil }
        return reading
    }

    func cache(_ reading: CachedReading) {
        // The release of the old value may run code of the program, so it happens without the lock.
        let old = lastReading.withLock { last in
            defer { last = reading }
            return last
        }
        withExtendedLifetime(old) {}
    }

    /// Registers a read of the key for Swift's Observation. The calling code reads the value after the call, so that a
    /// change between the call and the read is announced.
    func registerRead() {
        cell?.tracker.registerRead()
    }

    /// Records the problem of a reading. Returns true if the calling code must report the problem. Returns false if
    /// there is no problem, or if the last reading had the same problem with the same JSON.
    func recordProblem(of reading: Reading<Value>) -> Bool {
        reported.withLock { reported in
            guard let problem = reading.problem else {
                reported = nil
                return false
            }
            let isAlreadyReported =
                reported.map { $0.problem == problem && $0.replicaJSON == reading.replicaJSON } ?? false
            reported = (problem, reading.replicaJSON)
            return !isAlreadyReported
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

    /// Returns the JSON of a value, or the error of the encoding.
    func encoded(_ value: Value) -> Result<JSONValue?, DefaultsError> {
        Result { () throws(DefaultsError) in try encode(value) }
    }
}

/// Returns true if two values have the same JSON, or if both are nil. A value that cannot be encoded differs from every
/// value.
func isSameJSON(_ one: Result<JSONValue?, DefaultsError>, _ other: Result<JSONValue?, DefaultsError>) -> Bool {
    if case .success(let one) = one, case .success(let other) = other { one == other } else { false }
}

/// The result of reading a key.
struct Reading<Value: DefaultsSerializable>: Sendable {
    /// The effective value. Nil if it is the default of the key.
    var value: Value?
    /// The JSON in the replica at the time of the read: the stored value or a default of the schema, even if a value on
    /// the command line overrides it. A change in place is sent with the condition that the daemon still has this JSON.
    var replicaJSON: JSONValue?
    /// The reason why the suite could not be read, or why the stored value or a default is not a valid value of the
    /// key.
    var problem: DefaultsError?
    /// True if the suite could not be read, or if the value in the replica, stored or a default of the schema, is not a
    /// valid value of the key. A change in place must then not overwrite the stored value, because the change was not
    /// computed from this value.
    var isReplicaValueUnreadable = false
}
