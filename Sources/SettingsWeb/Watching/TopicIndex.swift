internal import HTTPServer
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// All watchers of one event loop with the same subject: the suites, keys and prefixes that they watch, and the grants
/// of their callers. A watcher is a request that waits for changes. A commit is compared with a topic, not with each
/// watcher. Owned by the event loop.
final class Topic {
    let subject: WatchSubject
    /// The tickets of the watchers, in any order. A ticket identifies an unanswered request on its event loop.
    fileprivate(set) var members: [Ticket] = []
    /// The reserved memory for the names in the subject; nil for a subject with few names.
    private let reservation: MemoryBudget.Reservation?

    fileprivate init(_ subject: WatchSubject, _ reservation: MemoryBudget.Reservation?) {
        self.subject = subject
        self.reservation = reservation
    }
}

/// An index of the topics of one event loop. The time to find the topics that a commit matches depends on the size of
/// the commit and the number of matches, but not on the number of topics. Owned by the event loop.
struct TopicIndex {
    /// A topic with at most this many names (suites, keys and prefixes) reserves no memory in the budget.
    private static let maximumUnreservedNames = 8
    /// An estimate of the memory of one name in a topic and in the index.
    private static let bytesPerName = 200

    private let budget: MemoryBudget
    private var topics: [WatchSubject: Topic] = [:]
    private var suites: [SuiteName: SuiteTopics] = [:]
    private var suitePrefixes = PrefixMap<SuiteTopics>()

    init(_ budget: MemoryBudget) { self.budget = budget }

    /// Adds a watcher. Returns its topic and its index in the members. Throws 503 if the reservation
    /// for a new topic would bring the use of the memory budget above half.
    mutating func add(_ id: Ticket, _ subject: WatchSubject) throws(Problem) -> (topic: Topic, position: Int) {
        let existing = topics[subject]
        let topic = if let existing { existing } else { try Topic(subject, reserveMemory(for: subject)) }
        if topic.members.isEmpty {
            topics[subject] = topic
            for suite in subject.suites { suites[suite, default: SuiteTopics()].add(topic) }
            for prefix in subject.suitePrefixes {
                suitePrefixes.update(prefix, default: SuiteTopics()) { $0.add(topic) }
            }
        }
        topic.members.append(id)
        return (topic, topic.members.count - 1)
    }

    private func reserveMemory(for subject: WatchSubject) throws(Problem) -> MemoryBudget.Reservation? {
        guard subject.nameCount > Self.maximumUnreservedNames else { return nil }
        let bytes = subject.nameCount * Self.bytesPerName
        // Watchers last long, so a reservation fails if more than half of the budget would then be in use, by watchers
        // and other work together. The other half remains for short requests.
        guard let reservation = budget.reserve(bytes, within: budget.capacity / 2) else { throw .tooManyNames }
        return reservation
    }

    /// Removes the watcher at an index in the members. Returns the last member if it has moved to this index.
    mutating func remove(_ topic: Topic, _ position: Int) -> Ticket? {
        let last = topic.members.removeLast()
        guard topic.members.isEmpty else {
            guard position < topic.members.count else { return nil }
            topic.members[position] = last
            return last
        }
        topics[topic.subject] = nil
        for suite in topic.subject.suites {
            suites[suite]?.remove(topic)
            if suites[suite]?.isEmpty ?? false { suites[suite] = nil }
        }
        for prefix in topic.subject.suitePrefixes {
            suitePrefixes.remove(prefix, { $0.remove(topic) }, if: \.isEmpty)
        }
        return nil
    }

    var allTopics: some Sequence<Topic> { topics.values }

    /// Finds the topics that match the changes of a commit at the indexes in `range`, and adds them to `found`. A
    /// search of a commit with many changes takes several calls. The call whose range begins at 0 also finds the topics
    /// that match changes of a suite as a whole, such as a new schema.
    func collectTopics(matching range: Range<Int>, of commit: Commit, into found: inout [ObjectIdentifier: Topic]) {
        for change in commit.suiteChanges where range.lowerBound == 0 {
            forEachMatch(of: change.suite) { topics in topics.forEach { found[ObjectIdentifier($0)] = $0 } }
        }
        for index in range {
            let (suite, key) = (commit.changes[index].suite, commit.changes[index].key)
            forEachMatch(of: suite) { $0.collectTopics(matching: key, into: &found) }
        }
    }

    /// Calls `body` with the topics that name the suite, and with the topics that name a prefix of the suite's name.
    private func forEachMatch(of suite: SuiteName, _ body: (SuiteTopics) -> Void) {
        if let topics = suites[suite] { body(topics) }
        suitePrefixes.forEachPrefix(of: suite.text, body)
    }
}

/// A set of topics. Most sets contain one topic, which is stored without a dictionary to save memory.
private struct TopicSet {
    private var single: Topic?
    private var others: [ObjectIdentifier: Topic] = [:]

    var isEmpty: Bool { single == nil && others.isEmpty }

    mutating func insert(_ topic: Topic) {
        if single == nil { single = topic } else { others[ObjectIdentifier(topic)] = topic }
    }

    mutating func remove(_ topic: Topic) {
        if single === topic { single = nil } else { others[ObjectIdentifier(topic)] = nil }
    }

    func forEach(_ body: (Topic) -> Void) {
        if let single { body(single) }
        others.values.forEach(body)
    }
}

/// The topics that name one suite, or one prefix of suite names. They are indexed by the keys that they watch.
private struct SuiteTopics {
    private var count = 0
    /// The topics that watch all keys.
    private var allKeys = TopicSet()
    private var keys: [KeyName: TopicSet] = [:]
    private var keyPrefixes = PrefixMap<TopicSet>()

    var isEmpty: Bool { count == 0 }

    mutating func add(_ topic: Topic) {
        count += 1
        if topic.subject.filter.isEverything { allKeys.insert(topic) }
        for key in topic.subject.filter.keys { keys[key, default: TopicSet()].insert(topic) }
        for prefix in topic.subject.filter.prefixes {
            keyPrefixes.update(prefix, default: TopicSet()) { $0.insert(topic) }
        }
    }

    mutating func remove(_ topic: Topic) {
        count -= 1
        allKeys.remove(topic)
        for key in topic.subject.filter.keys {
            guard let index = keys.index(forKey: key) else { continue }
            keys.values[index].remove(topic)
            if keys.values[index].isEmpty { keys.remove(at: index) }
        }
        for prefix in topic.subject.filter.prefixes { keyPrefixes.remove(prefix, { $0.remove(topic) }, if: \.isEmpty) }
    }

    func forEach(_ body: (Topic) -> Void) {
        allKeys.forEach(body)
        for topics in keys.values { topics.forEach(body) }
        for topics in keyPrefixes.values { topics.forEach(body) }
    }

    func collectTopics(matching key: KeyName, into found: inout [ObjectIdentifier: Topic]) {
        func add(_ topic: Topic) { found[ObjectIdentifier(topic)] = topic }
        allKeys.forEach(add)
        keys[key]?.forEach(add)
        keyPrefixes.forEachPrefix(of: key.text) { $0.forEach(add) }
    }
}

/// A map from prefixes to values. Finds the values of all prefixes with which a text begins.
private struct PrefixMap<Value> {
    private var map: [UTF8Text: Value] = [:]
    /// The number of prefixes of each length in bytes. A search looks up one prefix of the text for each length.
    private var lengths: [Int: Int] = [:]

    var values: some Sequence<Value> { map.values }

    mutating func update(_ prefix: UTF8Text, default empty: Value, _ body: (inout Value) -> Void) {
        let before = map.count
        body(&map[prefix, default: empty])
        if map.count > before { lengths[prefix.string.utf8.count, default: 0] += 1 }
    }

    /// Changes the value of a prefix, and removes the prefix from the map if the value is unused afterwards.
    mutating func remove(_ prefix: UTF8Text, _ body: (inout Value) -> Void, if isUnused: (Value) -> Bool) {
        guard let index = map.index(forKey: prefix) else { return }
        body(&map.values[index])
        guard isUnused(map.values[index]) else { return }
        map.remove(at: index)
        let length = prefix.string.utf8.count
        let remaining = (lengths[length] ?? 1) - 1
        lengths[length] = remaining > 0 ? remaining : nil
    }

    func forEachPrefix(of text: String, _ body: (Value) -> Void) {
        for length in lengths.keys where length <= text.utf8.count {
            // Nil if the first `length` bytes end within a character. No prefix of the map has a partial character.
            guard let prefix = String(text.utf8.prefix(length)), let value = map[UTF8Text(prefix)] else { continue }
            body(value)
        }
    }
}
