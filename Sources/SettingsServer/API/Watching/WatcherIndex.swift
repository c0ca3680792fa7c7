internal import SettingsModel

/// Those who watch the same.
final class Topic {
    let subject: WatchSubject
    fileprivate(set) var members: [Ticket] = []

    init(_ subject: WatchSubject) {
        self.subject = subject
    }
}

/// Finds the topics that a commit concerns, in time that grows with what the commit touches.
struct WatcherIndex {
    private var topics: [WatchSubject: Topic] = [:]
    private var suites: [SuiteName: Part] = [:]

    /// The topics with a suite in their subject, by what they watch of it.
    fileprivate struct Part {
        var count = 0
        var everything: [ObjectIdentifier: Topic] = [:]
        var keys: [KeyName: [ObjectIdentifier: Topic]] = [:]
        var prefixes: [UTF8Text: [ObjectIdentifier: Topic]] = [:]
        /// How many topics there are with prefixes of each length: which beginnings of a key are to be looked up.
        var lengths: [Int: Int] = [:]
    }

    /// Adds a watcher and returns its topic, and its place in that.
    mutating func add(_ ticket: Ticket, _ subject: WatchSubject) -> (topic: Topic, place: Int) {
        let topic: Topic
        if let found = topics[subject] {
            topic = found
        } else {
            topic = Topic(subject)
            topics[subject] = topic
            for suite in subject.suites { suites[suite, default: Part()].add(topic) }
        }
        topic.members.append(ticket)
        return (topic, topic.members.count - 1)
    }

    /// Removes the watcher at a place of a topic. Returns who has its place then, if anybody.
    mutating func remove(_ topic: Topic, _ place: Int) -> Ticket? {
        let last = topic.members.removeLast()
        guard topic.members.isEmpty else {
            guard place < topic.members.count else { return nil }
            topic.members[place] = last
            return last
        }
        topics[topic.subject] = nil
        for suite in topic.subject.suites {
            suites[suite]?.remove(topic)
            if suites[suite]?.count == 0 { suites[suite] = nil }
        }
        return nil
    }

    /// All topics.
    var all: some Sequence<Topic> { topics.values }

    /// Adds the topics that a commit concerns.
    func collect(_ commit: Commit, into found: inout [ObjectIdentifier: Topic]) {
        for change in commit.suiteChanges {
            suites[change.suite]?.forEach { found[ObjectIdentifier($0)] = $0 }
        }
        for change in commit.changes {
            suites[change.suite]?.collect(change.key, into: &found)
        }
    }
}

extension WatcherIndex.Part {
    mutating func add(_ topic: Topic) {
        let id = ObjectIdentifier(topic)
        count += 1
        if topic.subject.filter.isEverything { everything[id] = topic }
        for key in topic.subject.filter.keys { keys[key, default: [:]][id] = topic }
        for prefix in topic.subject.filter.prefixes {
            prefixes[prefix, default: [:]][id] = topic
            lengths[prefix.string.utf8.count, default: 0] += 1
        }
    }

    mutating func remove(_ topic: Topic) {
        let id = ObjectIdentifier(topic)
        count -= 1
        everything[id] = nil
        for key in topic.subject.filter.keys {
            keys[key]?[id] = nil
            if keys[key]?.isEmpty ?? false { keys[key] = nil }
        }
        for prefix in topic.subject.filter.prefixes {
            prefixes[prefix]?[id] = nil
            if prefixes[prefix]?.isEmpty ?? false { prefixes[prefix] = nil }
            let length = prefix.string.utf8.count
            let left = (lengths[length] ?? 1) - 1
            lengths[length] = left > 0 ? left : nil
        }
    }

    func forEach(_ body: (Topic) -> Void) {
        everything.values.forEach(body)
        for topics in keys.values { topics.values.forEach(body) }
        for topics in prefixes.values { topics.values.forEach(body) }
    }

    func collect(_ key: KeyName, into found: inout [ObjectIdentifier: Topic]) {
        for (id, topic) in everything { found[id] = topic }
        if let topics = keys[key] { for (id, topic) in topics { found[id] = topic } }
        guard !lengths.isEmpty else { return }
        let text = key.text
        for length in lengths.keys where length <= text.utf8.count {
            // A prefix may end within a character: then it is none of a text.
            guard let beginning = String(text.utf8.prefix(length)), let topics = prefixes[UTF8Text(beginning)]
            else { continue }
            for (id, topic) in topics { found[id] = topic }
        }
    }
}
