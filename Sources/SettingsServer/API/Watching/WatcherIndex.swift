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
    /// By what the names of suites begin with.
    private var families = Prefixes<Part>()

    /// The topics with a suite in their subject, or all suites of a prefix, by what they watch of it.
    fileprivate struct Part {
        var count = 0
        var everything: [ObjectIdentifier: Topic] = [:]
        var keys: [KeyName: [ObjectIdentifier: Topic]] = [:]
        var prefixes = Prefixes<[ObjectIdentifier: Topic]>()
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
            for prefix in subject.suitePrefixes { families.change(prefix, default: Part()) { $0.add(topic) } }
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
        for prefix in topic.subject.suitePrefixes {
            families.change(prefix, default: Part()) { $0.remove(topic) }
            families.discard(prefix) { $0.count == 0 }
        }
        return nil
    }

    /// All topics.
    var all: some Sequence<Topic> { topics.values }

    /// Adds the topics that a commit concerns.
    func collect(_ commit: Commit, into found: inout [ObjectIdentifier: Topic]) {
        for change in commit.suiteChanges {
            forEachPart(of: change.suite) { part in part.forEach { found[ObjectIdentifier($0)] = $0 } }
        }
        for change in commit.changes {
            forEachPart(of: change.suite) { $0.collect(change.key, into: &found) }
        }
    }

    private func forEachPart(of suite: SuiteName, _ body: (Part) -> Void) {
        if let part = suites[suite] { body(part) }
        families.forEach(of: suite.text, body)
    }
}

/// What is filed under beginnings of texts, to be found by a text that begins so.
private struct Prefixes<Filed> {
    private(set) var filed: [UTF8Text: Filed] = [:]
    /// How many beginnings there are of each length: which of a text are to be looked up.
    private var lengths: [Int: Int] = [:]

    mutating func change(_ prefix: UTF8Text, default empty: Filed, _ body: (inout Filed) -> Void) {
        if filed[prefix] == nil { lengths[prefix.string.utf8.count, default: 0] += 1 }
        body(&filed[prefix, default: empty])
    }

    /// Gives up what is filed under a beginning if it is of no use any more.
    mutating func discard(_ prefix: UTF8Text, where isUseless: (Filed) -> Bool) {
        guard filed[prefix].map(isUseless) ?? false else { return }
        filed[prefix] = nil
        let length = prefix.string.utf8.count
        let left = (lengths[length] ?? 1) - 1
        lengths[length] = left > 0 ? left : nil
    }

    func forEach(of text: String, _ body: (Filed) -> Void) {
        for length in lengths.keys where length <= text.utf8.count {
            // A beginning may end within a character: then it is none of a text.
            guard let beginning = String(text.utf8.prefix(length)), let found = filed[UTF8Text(beginning)] else {
                continue
            }
            body(found)
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
            prefixes.change(prefix, default: [:]) { $0[id] = topic }
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
            prefixes.change(prefix, default: [:]) { $0[id] = nil }
            prefixes.discard(prefix, where: \.isEmpty)
        }
    }

    func forEach(_ body: (Topic) -> Void) {
        everything.values.forEach(body)
        for topics in keys.values { topics.values.forEach(body) }
        for topics in prefixes.filed.values { topics.values.forEach(body) }
    }

    func collect(_ key: KeyName, into found: inout [ObjectIdentifier: Topic]) {
        for (id, topic) in everything { found[id] = topic }
        if let topics = keys[key] { for (id, topic) in topics { found[id] = topic } }
        prefixes.forEach(of: key.text) { topics in
            for (id, topic) in topics { found[id] = topic }
        }
    }
}
