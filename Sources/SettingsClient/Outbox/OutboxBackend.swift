internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// A suite whose writes wait on disk while nobody is there to take them.
///
/// A write that gets no answer goes into the outbox, and so do all after it until that is empty, so that their order is
/// kept. They are sent one after the other, each under the request key that it had from the beginning, as soon as somebody
/// is there: whoever hears something from the server says so, and otherwise it is tried from time to time.
final class OutboxBackend: SuiteBackend {
    private let inner: any SuiteBackend
    private let shared: Mutex<Shared>
    /// Whether anything waits: then a write need not be tried.
    private let hasKept = Atomic(false)
    /// Held while a write is put with the others and that is told, so that both have one order. What it guards is whether
    /// what others left behind has been looked for, as that comes before all else.
    private let keeping = Mutex(false)
    private let isOpen = Atomic(false)
    private let lookInterval: Duration
    private let listener = Mutex(Listener())
    private let requestKeys = RequestKeySource()
    /// Where writes are sent that waited.
    private let queue = DispatchQueue(label: "settings outbox")

    /// A function that stands in a mutex by itself gets a layer each time it is looked at, without end.
    private struct Listener {
        var tell: (@Sendable (KeptWriteNews) -> Void)?
    }

    private struct Shared {
        var store: OutboxStore
        /// How many at the end have not been told of yet.
        var untold = 0
        /// Why the first of them waits.
        var reason = ""
        var backOff = BackOff()
        /// What of others cannot be used, as far as it was told.
        var troubles: Set<OutboxFolder.Trouble> = []
        /// Whether an attempt is planned or under way.
        var isPlanned = false
        /// The attempt that was planned last; an earlier one whose time comes does nothing.
        var plan = 0
        /// Whether that is planned for later, as nobody was there.
        var isAway = false
        /// Whether it was told that somebody is there and takes nothing.
        var isTroubleTold = false
    }

    /// More than all who change one key at a time.
    private static let mostConflicts = 1000

    /// - Parameter lookInterval: how long after others were seen to have something it is looked whether they are there
    ///   still.
    init(_ inner: any SuiteBackend, _ store: OutboxStore, lookInterval: Duration = .seconds(10)) {
        self.inner = inner
        self.lookInterval = lookInterval
        shared = Mutex(Shared(store: store))
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
        if hasKept.load(ordering: .acquiring) { try sendKept() }
        return try inner.setSchema(document, onConflict: policy, requestKey: requestKey)
    }

    func news(since place: Cursor) throws(BackendError) -> Observation {
        let news = try inner.news(since: place)
        wake()
        return news
    }

    func follow(from cursor: Cursor, _ handler: @escaping @Sendable (Observation) -> Void) -> any Following {
        inner.follow(from: cursor) { [weak self] observation in
            self?.wake()
            handler(observation)
        }
    }

    func perform(_ write: SuiteWrite) throws(BackendError) -> WriteSummary {
        inherit()
        guard !hasKept.load(ordering: .acquiring) else {
            let reason = shared.withLock { $0.reason }
            return try keep(write, as: write.forLater, "earlier writes wait: \(reason)")
        }
        do {
            return try inner.perform(write)
        } catch {
            switch error {
            case .unreachable(let reason): return try keep(write, as: write, reason)
            case .refused(let problem) where problem.isNoVerdict:
                return try keep(write, as: write, problem.description)
            default: throw error
            }
        }
    }

    func hear(_ handler: @escaping @Sendable (KeptWriteNews) -> Void) {
        listener.withLock { $0.tell = handler }
        inner.hear(handler)
    }

    func lastKnown() -> ObservedState? { inner.lastKnown() }

    /// Takes over what others left behind, before anything is done.
    private func inherit() {
        guard !isOpen.load(ordering: .acquiring) else { return }
        keeping.withLock { hasLooked in
            if hasLooked { return }
            look()
            hasLooked = true
            isOpen.store(true, ordering: .releasing)
        }
        maySend()
    }

    /// Takes over what nobody has. What others have is looked at again later: they may go.
    private func look() {
        let (writes, troubles, hasOthers) = shared.withLock { shared in
            if shared.store.isEmpty { shared.reason = "an earlier run could not send them" }
            let found = shared.store.inherit()
            shared.untold += found.writes.count
            if !found.writes.isEmpty { hasKept.store(true, ordering: .releasing) }
            let troubles = found.troubles.filter { shared.troubles.insert($0).inserted }
            return (found.writes, troubles, found.hasOthers)
        }
        for trouble in troubles { tell(.trouble(path: trouble.path, reason: trouble.reason)) }
        for write in writes { tell(.kept(write, isInherited: true)) }
        shared.withLock { $0.untold -= writes.count }
        guard hasOthers else { return }
        queue.asyncAfter(deadline: .after(lookInterval)) { [weak self] in
            guard let self else { return }
            keeping.withLock { _ in look() }
            maySend()
        }
    }

    /// Keeps a write, and says so by what it throws.
    private func keep(_ write: SuiteWrite, as form: SuiteWrite, _ reason: String) throws(BackendError) -> WriteSummary {
        do {
            try keeping.withLock { _ throws(OutboxStore.Refusal) in
                try shared.withLock { shared throws(OutboxStore.Refusal) in
                    try shared.store.keep(write, as: form)
                    shared.untold += 1
                    if shared.store.count == 1 { shared.reason = reason }
                    hasKept.store(true, ordering: .releasing)
                }
                tell(.kept(write, isInherited: false))
                shared.withLock { $0.untold -= 1 }
            }
        } catch {
            throw .unreachable("\(reason); and it cannot be kept for later: \(error)")
        }
        maySend()
        throw .kept(reason)
    }

    private func tell(_ news: KeptWriteNews) {
        listener.withLock { $0.tell }?(news)
    }
}

/// When what waits is sent.
extension OutboxBackend {
    func sendKept() throws(BackendError) {
        inherit()
        let reason: String? = queue.sync {
            while true {
                switch step() {
                case .next: continue
                case .waits(let reason): return reason
                case .isEmpty: return nil
                }
            }
        }
        if let reason { throw .unreachable(reason) }
    }

    /// What was told may be sent.
    private func maySend() {
        let isNeeded = shared.withLock { !$0.isPlanned && $0.store.count > $0.untold }
        if isNeeded { plan(after: .zero) }
    }

    /// Somebody is there, as it seems.
    private func wake() {
        guard hasKept.load(ordering: .relaxed), shared.withLock({ $0.isAway }) else { return }
        plan(after: .zero)
    }

    private func plan(after pause: Duration, isAway: Bool = false) {
        let plan = shared.withLock { shared in
            shared.isAway = isAway
            shared.isPlanned = true
            shared.plan += 1
            return shared.plan
        }
        let work: @Sendable () -> Void = { [weak self] in self?.run(plan) }
        if pause > .zero {
            queue.asyncAfter(deadline: .after(pause), execute: work)
        } else {
            queue.async(execute: work)
        }
    }

    /// One step of a plan, then the next: so nothing holds the outbox when its adapter goes.
    private func run(_ plan: Int) {
        guard shared.withLock({ $0.plan == plan }), case .next = step() else { return }
        queue.async { [weak self] in self?.run(plan) }
    }
}

/// Sending, on the queue.
extension OutboxBackend {
    private enum Step {
        /// There may be more.
        case next
        /// Nothing more can be sent now, for this reason; an attempt is planned.
        case waits(String)
        /// There is nothing to send.
        case isEmpty
    }

    /// Sends the first of those that wait.
    private func step() -> Step {
        let first = shared.withLock { shared -> KeptWrite? in
            // What is being told of just now plans the next step afterwards.
            guard shared.store.count > shared.untold, let first = shared.store.first else {
                shared.isPlanned = false
                return nil
            }
            return first
        }
        guard let first else { return .isEmpty }
        let result = Result { () throws(BackendError) in try inner.perform(first.form) }
        switch SendOutcome(result, of: first.form) {
        case .done(let summary): return end(.done(first.original, summary))
        case .refused(let problem): return end(.refused(first.original, problem))
        case .conflict(let problem, let current): return change(first, after: problem, current)
        case .waits(let reason, let pause, let isAnswer): return wait(reason, atLeast: pause, isAnswer: isAnswer)
        }
    }

    private func end(_ news: KeptWriteNews) -> Step {
        tell(news)
        return shared.withLock { shared in
            shared.store.endFirst()
            shared.backOff.reset()
            shared.isTroubleTold = false
            guard shared.store.isEmpty else { return .next }
            hasKept.store(false, ordering: .releasing)
            shared.isPlanned = false
            return .isEmpty
        }
    }

    /// Has a write that met a conflict sent in another form, if its plan has one for what is there.
    private func change(_ write: KeptWrite, after problem: Problem, _ current: SettingState?) -> Step {
        guard write.conflicts < Self.mostConflicts, let key = write.form.key else {
            return end(.refused(write.original, problem))
        }
        do {
            let current = try current ?? inner.setting(key)
            guard let next = write.form.next(over: current, requestKey: requestKeys.next()) else {
                return end(.refused(write.original, problem))
            }
            // Before it is sent: otherwise, after a crash, both forms of it might be done.
            try shared.withLock { shared throws(StateFileError) in try shared.store.replaceFirst(by: next) }
            return .next
        } catch let error as BackendError {
            switch SendOutcome(.failure(error), of: write.form) {
            case .waits(let reason, let pause, let isAnswer): return wait(reason, atLeast: pause, isAnswer: isAnswer)
            default: return end(.refused(write.original, problem))
            }
        } catch {
            return wait("\(error)", atLeast: .zero, isAnswer: true)
        }
    }

    private func wait(_ reason: String, atLeast asked: Duration, isAnswer: Bool) -> Step {
        var generator = SystemRandomNumberGenerator()
        let (pause, trouble) = shared.withLock { shared -> (Duration, KeptWriteNews?) in
            shared.reason = reason
            let pause = shared.backOff.next(notBefore: asked, using: &generator)
            guard isAnswer, !shared.isTroubleTold else { return (pause, nil) }
            shared.isTroubleTold = true
            let count = shared.store.count
            let what = count == 1 ? "a write waits" : "\(count) writes wait"
            return (pause, .trouble(path: shared.store.path, reason: "\(what) as it is not taken: \(reason)"))
        }
        if let trouble { tell(trouble) }
        plan(after: pause, isAway: !isAnswer)
        return .waits(reason)
    }
}
