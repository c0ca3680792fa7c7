internal import SettingsAPI
internal import SettingsKeys

/// The past of a key, for tasks.
extension DefaultsReference {
    nonisolated(nonsending) func valueForTask(at moment: DefaultsMoment) async throws(DefaultsError) -> Value {
        let place = try moment.place
        return try await offload { () throws(DefaultsError) in try value(at: place) }
    }

    nonisolated(nonsending) func history(limit: Int) async throws(DefaultsError) -> [DefaultsChange<Value>] {
        try await offload { () throws(DefaultsError) in
            _ = try slot.codec.get()
            return try core.changes(of: names, limit: limit).map { change in
                DefaultsChange(change) { value, source in
                    let reading = reading(of: VisibleSetting(value: value, source: source, revision: nil))
                    return reading.isStoredUnreadable ? nil : reading.value ?? defaultValue
                }
            }
        }
    }

    nonisolated(nonsending) func restore(
        to moment: DefaultsMoment, _ note: String?
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let place = try moment.place
        return try await core.work.run(about: nil) { () throws(DefaultsError) in
            _ = try slot.codec.get()
            guard let key = slot.name else { return [] }
            // What was stored under a former name would be no value of the key if it were stored there again.
            if let found = try setting(at: place), found.key != key, found.source == .stored, let value = found.value {
                return try core.write(.set(key, to: value, in: core.suite, note: note))
            }
            return try core.write(.restore(core.suite, to: place, keys: [key], note: note))
        }
    }

    /// The name of the key, then its former names.
    private var names: [KeyName] {
        (slot.name.map { [$0] } ?? []) + (slot.rename?.formerNames ?? [])
    }

    private func value(at place: Moment) throws(DefaultsError) -> Value {
        _ = try slot.codec.get()
        let found = try setting(at: place)
        if let found, found.isConcealed {
            throw .refused(Refusal(.forbidden, "\(found.key) is a secret, which this program may not read"))
        }
        let reading = reading(
            of: found.map { VisibleSetting(value: $0.value, source: $0.source, revision: $0.revision) } ?? .unset)
        if reading.isStoredUnreadable, let problem = reading.problem { throw problem }
        return reading.value ?? defaultValue
    }

    private func reading(of visible: VisibleSetting) -> Reading<Value> {
        resolveWithoutArgument(visible, over: slot.name.flatMap(core.registered))
    }

    /// The setting as it was, under the first of its names that had a stored value, else under its present one; nil if
    /// there was none.
    private func setting(at place: Moment) throws(DefaultsError) -> SettingState? {
        var first: SettingState?
        for name in names {
            let found = try core.setting(name, at: place)
            if let found, found.source.isStored { return found }
            if name == slot.name { first = found }
        }
        return first
    }
}

/// The past of the suite, on the calling thread.
extension AdapterCore {
    /// The changes of these keys, of the newest commits first; for no keys, of all.
    func changes(of keys: [KeyName], limit: Int) throws(DefaultsError) -> [Change] {
        var (changes, left, before) = ([Change](), limit, Revision?.none)
        while left > 0 {
            // A page may be empty, and another one follow.
            let call = PastCall.history(of: suite, keys, before: before, limit: min(left, 1000))
            guard let page = try known({ () throws(DefaultsError) in try ask(call) }) else { break }
            changes += page.commits.flatMap(\.changes)
            left -= page.commits.count
            before = page.next
            if before == nil { break }
        }
        return changes
    }

    func difference(from: Moment, to: Moment?) throws(DefaultsError) -> [Change] {
        try known { () throws(DefaultsError) in try ask(.difference(of: suite, from: from, to: to)).changes } ?? []
    }

    /// A setting as it was; nil if there was none.
    fileprivate func setting(_ key: KeyName, at place: Moment) throws(DefaultsError) -> SettingState? {
        try known { () throws(DefaultsError) in try ask(.setting(key, in: suite, at: place)) }
    }

    /// Sends a write that rests on the past. Its effects are visible here when this returns, unless the server went away
    /// meanwhile.
    func write(_ call: PastCall<WriteSummary>) throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let summary = try throwingDefaultsError { () throws(BackendError) in
            // It is to come after what was written before.
            try session.sendKept()
            return try session.backend.send(call)
        }
        if summary.changed { try? synchronize() }
        return summary.changes.map { DefaultsChange($0) }
    }

    private func ask<Output>(_ call: PastCall<Output>) throws(DefaultsError) -> Output {
        try throwingDefaultsError { () throws(BackendError) in
            try session.read { () throws(BackendError) in try session.backend.send(call) }
        }
    }

    /// The answer to a question; nil if there is no such suite or key, or nothing was set.
    private func known<Output>(_ ask: () throws(DefaultsError) -> Output) throws(DefaultsError) -> Output? {
        do {
            return try ask()
        } catch {
            guard [.unknownSuite, .unknownKey, .notSet].contains(error.code) else { throw error }
            return nil
        }
    }
}
