internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Adding and removing clients.
extension ClientTable {
    func slotIndex(of client: ClientName, in suite: SuiteName) -> Int32? {
        suiteIndexes[suite].flatMap { suites[Int($0)]?.slots[client] }
    }

    /// Returns the slot of the client that reports. Adds the client if it is new, or if its name belonged to another
    /// credential.
    mutating func slotIndex(
        for sighting: ClientSighting, of name: SuiteName, on state: State, at now: Time
    ) -> Int32 {
        if let index = slotIndex(of: sighting.name, in: name) {
            guard let owner = slots[Int(index)].client?.caller, let caller = sighting.caller,
                !owner.hasSameBytes(as: caller)
            else { return index }
            remove(index, at: now)
        }
        if count >= limits.clients || count(of: name) >= limits.clientsPerSuite { moveEndedWatches() }
        if let lists = suiteIndexes[name].flatMap({ suites[Int($0)]?.lists }), lists.count >= limits.clientsPerSuite {
            drop(lists.oldest, at: now)
        }
        if count >= limits.clients { drop(lists.oldest, at: now) }
        let suite = suiteIndex(of: name, on: state)
        let client = SuiteClient(
            sighting.name, sighting.caller, from: sighting.peer, since: now.wall, seen: now.monotonic)
        lastNumber &+= 1
        let slot = Slot(client: client, suite: suite, presence: .idle, number: lastNumber)
        let index = unusedSlots.popLast() ?? Int32(slots.count)
        if Int(index) == slots.count { slots.append(slot) } else { slots[Int(index)] = slot }
        suites[Int(suite)]?.slots[sighting.name] = index
        link(index)
        suites[Int(suite)]?.wholeSuiteCount += 1
        changeVersion(of: Int(suite))
        return index
    }

    mutating func suiteIndex(of name: SuiteName, on state: State) -> Int32 {
        if let index = suiteIndexes[name] { return index }
        lastVersion += 1
        let suite = SuiteClients(name: name, version: lastVersion, searchedRevision: state.revision)
        let index = unusedSuites.popLast() ?? Int32(suites.count)
        if Int(index) == suites.count { suites.append(suite) } else { suites[Int(index)] = suite }
        suiteIndexes[name] = index
        return index
    }

    /// Removes a client because of the limits.
    mutating func drop(_ index: Int32, at now: Time) {
        droppedCount += 1
        remove(index, at: now)
    }

    mutating func remove(_ index: Int32, at now: Time) {
        guard let client = slots[Int(index)].client else { return }
        let suite = Int(slots[Int(index)].suite)
        removeFromProgress(index, at: now)
        setSubject(of: index, to: nil)
        unlink(index)
        if slots[Int(index)].presence != .gone { suites[suite]?.wholeSuiteCount -= 1 }
        slots[Int(index)].client = nil
        unusedSlots.append(index)
        changeVersion(of: suite)
        suites[suite]?.slots[client.name] = nil
        guard let remaining = suites[suite], remaining.slots.isEmpty else { return }
        suiteIndexes[remaining.name] = nil
        suites[suite] = nil
        unusedSuites.append(Int32(suite))
    }

    /// Moves a client to the end of a list.
    mutating func move(_ index: Int32, to presence: ClientPresence) {
        let former = slots[Int(index)].presence
        unlink(index)
        slots[Int(index)].presence = presence
        link(index)
        guard (former == .gone) != (presence == .gone) else { return }
        let suite = Int(slots[Int(index)].suite)
        changeVersion(of: suite)
        if slots[Int(index)].client?.subject == nil {
            suites[suite]?.wholeSuiteCount += presence == .gone ? -1 : 1
        }
    }

    mutating func link(_ index: Int32) {
        let presence = slots[Int(index)].presence
        lists[presence].append(index, in: &slots, .all)
        suites[Int(slots[Int(index)].suite)]?.lists[presence].append(index, in: &slots, .suite)
    }

    mutating func unlink(_ index: Int32) {
        let presence = slots[Int(index)].presence
        lists[presence].remove(index, in: &slots, .all)
        suites[Int(slots[Int(index)].suite)]?.lists[presence].remove(index, in: &slots, .suite)
    }

    mutating func changeVersion(of suite: Int) {
        lastVersion += 1
        suites[suite]?.version = lastVersion
    }

    /// Stores the keys that the client watches. A report without a watch keeps the keys of the last watch. A new client
    /// without a watch has the keys that its caller may read.
    mutating func setSubject(of index: Int32, to sighting: ClientSighting, of name: SuiteName) {
        if sighting.filter == nil, slots[Int(index)].client?.subject != nil { return }
        setSubject(
            of: index, to: ClientSubject.part(of: name, sighting.filter ?? .everything, for: sighting.readLimits))
    }

    mutating func setSubject(of index: Int32, to part: WatchSubject?) {
        let (former, suite) = (slots[Int(index)].client?.subject, Int(slots[Int(index)].suite))
        guard former?.subject != part else { return }
        if let former, let entry = suites[suite]?.subjects[former.subject] {
            suites[suite]?.subjects[former.subject] = entry.count > 1 ? (entry.subject, entry.count - 1) : nil
        }
        var shared: ClientSubject?
        if let part {
            let entry = suites[suite]?.subjects[part] ?? (ClientSubject(part), 0)
            suites[suite]?.subjects[part] = (entry.subject, entry.count + 1)
            shared = entry.subject
        }
        slots[Int(index)].client?.subject = shared
        changeVersion(of: suite)
        if slots[Int(index)].presence != .gone, (former == nil) != (shared == nil) {
            suites[suite]?.wholeSuiteCount += shared == nil ? 1 : -1
        }
    }
}
