internal import HTTPServer
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A topic that watchers with the same subject share.
final class Topic {
    let subject: WatchSubject
    /// The watchers of the topic.
    fileprivate(set) var members: [Ticket] = []
    /// The charge for the names of the subject, if they are many.
    private let charge: MemoryBudget.Reservation?

    fileprivate init(_ subject: WatchSubject, _ charge: MemoryBudget.Reservation?) {
        self.subject = subject
        self.charge = charge
    }
}

/// An index of the topics of one event loop. It finds the topics that a commit matches in time that grows with the size of the commit.
struct TopicIndex {
    /// A subject with at most this many names is not charged to the memory budget.
    private static let freeNames = 8
    /// An estimate of the bytes that a name takes in the topic and in the index.
    private static let bytesOfName = 200

    private let budget: MemoryBudget
    private var topics: [WatchSubject: Topic] = [:]
    private var suites: [SuiteName: SuiteTopics] = [:]
    private var suitePrefixes = PrefixMap<SuiteTopics>()

    init(_ budget: MemoryBudget) {
        self.budget = budget
    }

    /// Adds a watcher. Returns its topic, and its position among the members of the topic. Throws if the subject has many names
    /// and the memory budget has no room for them.
    mutating func add(
        _ id: Ticket, _ subject: WatchSubject
    ) throws(Problem) -> (topic: Topic, position: Int) {
        let topic = if let known = topics[subject] { known } else { try Topic(subject, charge(subject)) }
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

    private func charge(_ subject: WatchSubject) throws(Problem) -> MemoryBudget.Reservation? {
        guard subject.nameCount > Self.freeNames else { return nil }
        // The other half of the budget is left for requests that take less time.
        guard let charge = budget.reserve(subject.nameCount * Self.bytesOfName, within: budget.capacity / 2) else {
            throw .tooManyNames
        }
        return charge
    }

    /// Removes the watcher at a position of a topic. Returns the watcher that gets this position, if any.
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

    /// Adds the topics that match a part of the changes of a commit. The first part includes the topics that match the
    /// commit's changes of suites.
    func collect(_ commit: Commit, _ changes: Range<Int>, into found: inout [ObjectIdentifier: Topic]) {
        for change in commit.suiteChanges where changes.lowerBound == 0 {
            forEach(of: change.suite) { topics in topics.forEach { found[ObjectIdentifier($0)] = $0 } }
        }
        for index in changes {
            forEach(of: commit.changes[index].suite) { $0.collect(commit.changes[index].key, into: &found) }
        }
    }

    private func forEach(of suite: SuiteName, _ body: (SuiteTopics) -> Void) {
        if let topics = suites[suite] { body(topics) }
        suitePrefixes.forEach(of: suite.text, body)
    }
}

/// A set of topics. Most sets contain one topic, which needs no dictionary.
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

/// The topics of one suite, or of all suites with one prefix, by the keys that the topics contain.
private struct SuiteTopics {
    private var count = 0
    private var ofAllKeys = TopicSet()
    private var keys: [KeyName: TopicSet] = [:]
    private var prefixes = PrefixMap<TopicSet>()

    var isEmpty: Bool { count == 0 }

    mutating func add(_ topic: Topic) {
        count += 1
        if topic.subject.filter.isEverything { ofAllKeys.insert(topic) }
        for key in topic.subject.filter.keys { keys[key, default: TopicSet()].insert(topic) }
        for prefix in topic.subject.filter.prefixes {
            prefixes.update(prefix, default: TopicSet()) { $0.insert(topic) }
        }
    }

    mutating func remove(_ topic: Topic) {
        count -= 1
        ofAllKeys.remove(topic)
        for key in topic.subject.filter.keys {
            guard let place = keys.index(forKey: key) else { continue }
            keys.values[place].remove(topic)
            if keys.values[place].isEmpty { keys.remove(at: place) }
        }
        for prefix in topic.subject.filter.prefixes { prefixes.remove(prefix, { $0.remove(topic) }, if: \.isEmpty) }
    }

    func forEach(_ body: (Topic) -> Void) {
        ofAllKeys.forEach(body)
        for topics in keys.values { topics.forEach(body) }
        for topics in prefixes.values { topics.forEach(body) }
    }

    func collect(_ key: KeyName, into found: inout [ObjectIdentifier: Topic]) {
        func add(_ topic: Topic) { found[ObjectIdentifier(topic)] = topic }
        ofAllKeys.forEach(add)
        keys[key]?.forEach(add)
        prefixes.forEach(of: key.text) { $0.forEach(add) }
    }
}

/// A map from prefixes that finds the values of all prefixes of a text.
private struct PrefixMap<Value> {
    private var map: [UTF8Text: Value] = [:]
    /// The number of prefixes by length: only these lengths of a text are looked up.
    private var lengths: [Int: Int] = [:]

    var values: some Sequence<Value> { map.values }

    mutating func update(_ prefix: UTF8Text, default empty: Value, _ body: (inout Value) -> Void) {
        let before = map.count
        body(&map[prefix, default: empty])
        if map.count > before { lengths[prefix.string.utf8.count, default: 0] += 1 }
    }

    /// Changes a value, and removes the value if it is unused afterwards.
    mutating func remove(_ prefix: UTF8Text, _ body: (inout Value) -> Void, if isUnused: (Value) -> Bool) {
        guard let place = map.index(forKey: prefix) else { return }
        body(&map.values[place])
        guard isUnused(map.values[place]) else { return }
        map.remove(at: place)
        let length = prefix.string.utf8.count
        let left = (lengths[length] ?? 1) - 1
        lengths[length] = left > 0 ? left : nil
    }

    func forEach(of text: String, _ body: (Value) -> Void) {
        for length in lengths.keys where length <= text.utf8.count {
            // The text has no prefix of a length that ends within a character.
            guard let prefix = String(text.utf8.prefix(length)), let value = map[UTF8Text(prefix)] else { continue }
            body(value)
        }
    }
}
