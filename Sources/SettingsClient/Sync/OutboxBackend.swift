internal import Dispatch
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A suite whose writes wait on disk while nobody is there to take them.
///
/// A write that gets no answer goes into the outbox, and so do all after it until that is empty, so that their order is
/// kept. They are sent one after the other, each under the request key that it had from the beginning, as soon as somebody
/// is there: whoever hears something from the server says so, and otherwise it is tried from time to time. While they are
/// being sent, a setter waits for its own write like any other.
final class OutboxBackend: SuiteBackend {
    let inner: any SuiteBackend
    let state: Mutex<OutboxState>
    /// Whether anything waits: then a write need not be tried.
    let hasKept = Atomic(false)
    /// Whether it was said that somebody is there, and nothing came of that yet.
    let isWoken = Atomic(false)
    /// Where writes are sent that waited.
    let queue = DispatchQueue(label: "settings outbox")
    /// How long a setter waits for a write that has others before it.
    let patience: Duration
    /// Names for writes in another form.
    let requestKeys = RequestKeySource()

    /// Held while a write is put with the others and that is told, so that both have one order. What it guards is whether
    /// what others left behind has been looked for, as that comes before all else.
    private let keeping = Mutex(false)
    private let isOpen = Atomic(false)
    private let lookInterval: Duration
    private let listener = Mutex(Listener())

    /// A function that stands in a mutex by itself gets a layer each time it is looked at, without end.
    private struct Listener {
        var tell: (@Sendable (KeptWriteNews) -> Void)?
    }

    /// - Parameters:
    ///   - patience: how long a setter waits for a write that has others before it.
    ///   - lookInterval: how long after others were seen to have something it is looked whether they are there still.
    init(
        _ inner: any SuiteBackend, _ store: OutboxStore, patience: Duration = .seconds(2),
        lookInterval: Duration = .seconds(10)
    ) {
        self.inner = inner
        // As good as forever, and short enough to be added to a time.
        self.patience = min(patience, .seconds(1 << 31))
        self.lookInterval = lookInterval
        state = Mutex(OutboxState(store))
    }

    var suite: SuiteName { inner.suite }

    func load() throws(BackendError) -> ObservedState {
        inherit()
        let state = try inner.load()
        wake()
        return state
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        let setting = try inner.setting(key)
        wake()
        return setting
    }

    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        try perform(SuiteWrite(action: .transaction(transaction), requestKey: requestKey))
    }

    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        try perform(SuiteWrite(action: .reset, requestKey: requestKey))
    }

    func schema() throws(BackendError) -> SchemaDocument? {
        let schema = try inner.schema()
        wake()
        return schema
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        // What was written before may be just what the schema is to be held against.
        inherit()
        if hasKept.load(ordering: .acquiring) { try sendKept() }
        return try inner.setSchema(document, onConflict: policy, requestKey: requestKey)
    }

    func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        let news = try inner.news(since: place)
        wake()
        return news
    }

    func follow(from cursor: Cursor, _ handler: @escaping @Sendable (SettingsObservation) -> Void) -> any Following {
        inner.follow(from: cursor) { [weak self] observation in
            self?.wake()
            handler(observation)
        }
    }

    func hear(_ handler: @escaping @Sendable (KeptWriteNews) -> Void) {
        listener.withLock { $0.tell = handler }
        inner.hear(handler)
    }

    func lastKnown() -> ObservedState? { inner.lastKnown() }

    func tell(_ news: KeptWriteNews) {
        listener.withLock { $0.tell }?(news)
    }
}

/// Writing.
extension OutboxBackend {
    func perform(_ write: SuiteWrite) throws(BackendError) -> WriteSummary {
        inherit()
        guard !hasKept.load(ordering: .acquiring) else { return try performBehindOthers(write) }
        do {
            return try inner.perform(write)
        } catch {
            // Whoever asked resolves a conflict better: it knows the type of the key.
            guard case .waits(let reason, let asked, let isAnswer) = SendOutcome(.failure(error), of: write) else {
                throw error
            }
            if write.forLater.comparesRevisions { throw error }
            // What may have been done has to be sent again as it was.
            let isUnsent = if case .unreachable(_, .notDone) = error { true } else { false }
            try keep(write, as: isUnsent ? write.forLater : write, reason, isTried: true)
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            throw .kept(reason)
        }
    }

    private func performBehindOthers(_ write: SuiteWrite) throws(BackendError) -> WriteSummary {
        let reason = "earlier writes wait: \(state.withLock { $0.reason })"
        if write.forLater.comparesRevisions { throw .unreachable(reason, outcome: .notDone) }
        try keep(write, as: write.forLater, reason, isTried: false)
        sendIfNeeded()
        guard let result = sendUntilDone(write.requestKey) else { throw .kept(reason) }
        return try result.get()
    }

    /// - Parameter isTried: whether it was tried just now, and in vain.
    private func keep(
        _ write: SuiteWrite, as form: SuiteWrite, _ reason: String, isTried: Bool
    ) throws(BackendError) {
        do {
            try keeping.withLock { _ throws(OutboxStore.Refusal) in
                try state.withLock { state throws(OutboxStore.Refusal) in
                    if state.store.isEmpty { state.reason = reason }
                    try state.store.keep(write, as: form)
                    state.untold += 1
                    if !isTried { state.await(write.requestKey) }
                    hasKept.store(true, ordering: .releasing)
                }
                tell(.kept(write, isInherited: false))
                state.withLock { $0.untold -= 1 }
            }
        } catch {
            throw .unreachable("\(reason); and it cannot be kept for later: \(error)")
        }
    }
}

/// Taking over what others left behind.
extension OutboxBackend {
    /// Does so once, before anything else is done.
    func inherit() {
        guard !isOpen.load(ordering: .acquiring) else { return }
        let found = keeping.withLock { hasLooked -> Found? in
            if hasLooked { return nil }
            hasLooked = true
            defer { isOpen.store(true, ordering: .releasing) }
            return look()
        }
        if let found { proceed(found) }
    }

    private struct Found: Sendable {
        let troubles: [OutboxFolder.Trouble]
        let hasOthers: Bool
    }

    /// Takes over what nobody has.
    private func look() -> Found {
        let (writes, found) = state.withLock { state in
            if state.store.isEmpty { state.reason = "an earlier run could not send them" }
            let found = state.store.inherit()
            state.untold += found.writes.count
            if !found.writes.isEmpty { hasKept.store(true, ordering: .releasing) }
            return (found.writes, Found(troubles: state.new(found.troubles), hasOthers: found.hasOthers))
        }
        for write in writes { tell(.kept(write, isInherited: true)) }
        state.withLock { $0.untold -= writes.count }
        return found
    }

    /// What others have is looked at again later, as they may go.
    private func proceed(_ found: Found) {
        for trouble in found.troubles { tell(.trouble(path: trouble.path, reason: trouble.reason)) }
        sendIfNeeded()
        guard found.hasOthers else { return }
        queue.asyncAfter(deadline: .after(lookInterval)) { [weak self] in
            guard let self else { return }
            proceed(keeping.withLock { _ in look() })
        }
    }
}
