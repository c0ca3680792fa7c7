internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

extension DefaultsReference {
    nonisolated(nonsending) func readValue(at moment: DefaultsMoment) async throws(DefaultsError) -> Value {
        let requestMoment = try moment.requestMoment
        _ = try resolved.codec.get()
        let found = try await setting(at: requestMoment)
        if let found, found.isConcealed {
            throw .refused(Refusal(.forbidden, "\(found.key) is a secret that this program may not read"))
        }
        let reading = reading(
            of: found.map { ReplicaSetting(value: $0.value, source: $0.source, revision: $0.revision) } ?? .unset)
        if reading.isReplicaValueUnreadable, let problem = reading.problem { throw problem }
        return reading.value ?? defaultValue
    }

    nonisolated(nonsending) func history(limit: Int) async throws(DefaultsError) -> [DefaultsChange<Value>] {
        _ = try resolved.codec.get()
        return try await core.changes(of: names, limit: limit).map { change in
            DefaultsChange(change) { value, source in
                let reading = reading(of: ReplicaSetting(value: value, source: source, revision: nil))
                return reading.isReplicaValueUnreadable ? nil : reading.value ?? defaultValue
            }
        }
    }

    nonisolated(nonsending) func restore(
        to moment: DefaultsMoment, _ note: String?
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let requestMoment = try moment.requestMoment
        _ = try resolved.codec.get()
        guard let key = resolved.name else { return [] }
        // If the value was stored under a former name, the write stores it under the present name, because getters
        // ignore a former name after the value has been moved to the present name.
        if let found = try await setting(at: requestMoment), found.key != key, found.source == .stored,
            let value = found.value
        {
            return try await core.sendDirectWrite(.set(key, to: value, in: core.suite, note: note))
        }
        return try await core.sendDirectWrite(.restore(core.suite, to: requestMoment, keys: [key], note: note))
    }

    /// The name of the key, then its former names.
    private var names: [KeyName] {
        (resolved.name.map { [$0] } ?? []) + (resolved.valueMove?.formerNames ?? [])
    }

    private func reading(of setting: ReplicaSetting) -> Reading<Value> {
        readingWithoutArgument(of: setting, over: resolved.name.flatMap(core.registeredDefault))
    }

    /// Returns the setting under the first of the names that had a stored value. If no name had a stored value, returns
    /// the setting under the present name. Returns nil if there was no setting.
    private nonisolated(nonsending) func setting(at requestMoment: Moment) async throws(DefaultsError) -> SettingState?
    {
        var presentNameSetting: SettingState?
        for name in names {
            let found = try await core.setting(name, at: requestMoment)
            if let found, found.source.isStored { return found }
            if name == resolved.name { presentNameSetting = found }
        }
        return presentNameSetting
    }
}

extension AdapterCore {
    /// Returns the changes in the newest commits that changed these keys. If `keys` is empty, includes all keys.
    ///
    /// - Parameter limit: the maximum number of commits.
    nonisolated(nonsending) func changes(of keys: [KeyName], limit: Int) async throws(DefaultsError) -> [Change] {
        var (changes, remainingCommits, before) = ([Change](), limit, Revision?.none)
        while remainingCommits > 0 {
            // A page may be empty although another page follows.
            let call = DirectRequest.history(of: suite, keys, before: before, limit: min(remainingCommits, 1000))
            guard let page = try await fetchIfPresent(call) else { break }
            changes += page.commits.flatMap(\.changes)
            remainingCommits -= page.commits.count
            before = page.next
            if before == nil { break }
        }
        return changes
    }

    nonisolated(nonsending) func difference(from: Moment, to: Moment?) async throws(DefaultsError) -> [Change] {
        try await fetchIfPresent(.difference(of: suite, from: from, to: to))?.changes ?? []
    }

    /// Returns the setting at a moment. Returns nil if there was no setting.
    fileprivate nonisolated(nonsending) func setting(
        _ key: KeyName, at requestMoment: Moment
    ) async throws(DefaultsError) -> SettingState? {
        try await fetchIfPresent(.setting(key, in: suite, at: requestMoment))
    }

    /// Sends a write (an undo, a restore, or a write of a past value) without the outbox, after the daemon has answered
    /// all writes in the outbox. Returns the changes.
    nonisolated(nonsending) func sendDirectWrite(
        _ call: DirectRequest<WriteSummary>
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let summary = try await throwingDefaultsError { () async throws(BackendError) in
            try await session.sendAfterQueue(call)
        }
        return summary.changes.map { DefaultsChange($0) }
    }

    /// Sends a request that reads. Returns nil if the suite or the key does not exist, or if the key had no value.
    private nonisolated(nonsending) func fetchIfPresent<Output>(
        _ call: DirectRequest<Output>
    ) async throws(DefaultsError) -> Output? {
        do throws(BackendError) {
            return try await session.read { () async throws(BackendError) in try await session.backend.send(call) }
        } catch {
            let error = DefaultsError(error)
            guard [.unknownSuite, .unknownKey, .notSet].contains(error.code) else { throw error }
            return nil
        }
    }
}
