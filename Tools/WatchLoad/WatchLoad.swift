import Glibc

/// Many watchers and one writer, all in one thread.
final class WatchLoad {
    private enum Phase {
        case greeting
        case asking
        /// The head of an answer is there, which is how etcd begins to wait.
        case waiting
        case answered
    }

    private struct Watcher {
        var channel: Channel
        var phase = Phase.greeting
    }

    /// How many connections may be between being opened and their first answer, so that the server's queue of those it
    /// has not accepted never fills.
    private static let opening = 128
    /// So many source addresses share the watchers: the ports of one, or what a server allows one, might not do for all.
    private static let addresses = 32
    /// Metrics are the longest answer that is read whole.
    private static let controlRoom = 1 << 16
    /// Seconds in which anything that is waited for has to happen.
    private static let patience = 60.0

    /// Seconds for each watcher that is woken, after which their answers are taken. Until then they gather in the
    /// sockets, where the kernel notes when they come: it is the server that is measured, and a client that takes them
    /// meanwhile takes the server's processors.
    private static let rest = 20e-6

    private let plan: LoadPlan
    private let readiness: Readiness
    private let scratch = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    private let watchRequests: [[UInt8]]
    private let watchEnd: [UInt8]
    private var request: [UInt8] = []
    private var cursor: [UInt8] = []

    private var watchers: [Watcher] = []
    private var control: Channel
    private var isControlAnswered = true
    private var input = CommandInput()

    private var greeted = 0
    private var waiting = 0
    private var answers = 0
    private var value = 10_000_000

    /// The key whose watchers are being woken, how many of them have no answer yet, and when the last
    /// had it.
    private var woken: Int?
    private var unanswered = 0
    private var lastAnswer = 0.0

    init(_ plan: LoadPlan) throws(LoadFailure) {
        self.plan = plan
        try raiseOpenFiles(toHold: plan.watchers + 16)
        readiness = try Readiness()
        watchRequests = (0..<plan.keys).map(plan.server.watch)
        watchEnd = plan.server.watchEnd(wait: plan.wait)
        control = try Channel(to: plan.port, from: INADDR_LOOPBACK, room: Self.controlRoom)
        watchers.reserveCapacity(plan.watchers)
        request.reserveCapacity(1024)
        try readiness.add(control.socket, name: plan.watchers)
        try readiness.add(STDIN_FILENO, name: plan.watchers + 1)
    }

    /// Has all watchers wait, then does what the commands say until there are no more.
    func run() throws(LoadFailure) {
        for key in 0..<plan.keys { try exchange(nextPut(key)) }
        if let question = plan.server.cursorRequest {
            try exchange(question)
            try appendCursor(of: control, to: &cursor)
        }
        say("{\"prepared\":true}")
        var nextKey = 0
        while true {
            while let words = input.next() {
                switch (words.first, words.count) {
                case ("watch", 1):
                    try openAll()
                    try awaitWaiting()
                    answers = 0
                    say("{\"waiting\":\(plan.watchers)}")
                case ("count", 1):
                    say("{\"answers\":\(answers)}")
                case ("wake", 2):
                    var seconds: [Double] = []
                    for _ in 0..<(Int(words[1]) ?? 0) {
                        seconds.append(try wake(nextKey))
                        nextKey = (nextKey + 1) % plan.keys
                    }
                    say("{\"seconds\":\(seconds)}")
                default:
                    throw LoadFailure("not a command: \(words.joined(separator: " "))")
                }
            }
            if input.hasEnded { return }
            try pump(-1)
        }
    }

    private func openAll() throws(LoadFailure) {
        let began = monotonicSeconds()
        while greeted < plan.watchers {
            while watchers.count < min(plan.watchers, greeted + Self.opening) {
                let host = INADDR_LOOPBACK + UInt32(watchers.count % Self.addresses)
                var channel = try Channel(to: plan.port, from: host, room: 2048)
                try readiness.add(channel.socket, name: watchers.count)
                try channel.send(plan.server.greeting)
                watchers.append(Watcher(channel: channel))
            }
            try pump(100)
            try checkPatience(since: began, "were connected", greeted)
        }
    }

    /// Returns when the server holds every watcher's request, so that no PUT finds one still under way.
    private func awaitWaiting() throws(LoadFailure) {
        let began = monotonicSeconds()
        while true {
            if let question = plan.server.waiting {
                try exchange(question)
                let number = control.withBytes { answer in
                    answer.end(of: ServerKind.waitingMetric).flatMap { answer.decimal(from: $0) }
                }
                guard let number else { throw LoadFailure("the server does not tell how many watch") }
                waiting = number
            }
            if waiting == plan.watchers { return }
            try pump(1)
            try checkPatience(since: began, "came to wait", waiting)
        }
    }

    /// Puts to a key; returns the seconds until the last of its watchers had its whole answer.
    private func wake(_ key: Int) throws(LoadFailure) -> Double {
        let put = nextPut(key)
        let mine = stride(from: key, to: plan.watchers, by: plan.keys)
        for index in mine {
            // To tell this program of what comes would be a part of the server's `send`; so would be acknowledgements.
            readiness.remove(watchers[index].channel.socket)
            acknowledgeLate(watchers[index].channel.socket)
        }
        (woken, unanswered, lastAnswer) = (key, mine.underestimatedCount, 0)
        let (patienceBegan, began) = (monotonicSeconds(), wallClockSeconds())
        try control.send(put)
        isControlAnswered = false
        while unanswered > 0 || !isControlAnswered {
            usleep(UInt32(max(1000, Double(unanswered) * Self.rest * 1e6)))
            for index in mine where watchers[index].phase != .answered { try receive(index) }
            try pump(0)
            try checkPatience(since: patienceBegan, "have no answer", unanswered)
        }
        woken = nil
        let digits = Array(String(value).utf8)
        for index in mine {
            guard watchers[index].channel.withBytes({ $0.end(of: digits) }) != nil else {
                throw LoadFailure("a watcher's answer does not tell of the value that was put")
            }
            try readiness.add(watchers[index].channel.socket, name: index)
            try watch(index)
        }
        try awaitWaiting()
        return lastAnswer - began
    }

    /// A PUT of a value that was not there before.
    private func nextPut(_ key: Int) -> [UInt8] {
        value += 1
        return plan.server.put(key: key, value: value)
    }

    /// One request over the connection that watches nothing.
    private func exchange(_ request: [UInt8]) throws(LoadFailure) {
        let began = monotonicSeconds()
        try control.send(request)
        isControlAnswered = false
        while !isControlAnswered {
            try pump(100)
            try checkPatience(since: began, "requests were answered", 0)
        }
    }

    /// Sends a watcher's request: after the cursor of the answer it had, or the one to begin with.
    private func watch(_ index: Int) throws(LoadFailure) {
        request.removeAll(keepingCapacity: true)
        request += watchRequests[index % plan.keys]
        if plan.server.cursorRequest != nil {
            if watchers[index].phase == .greeting {
                request += cursor
            } else {
                try appendCursor(of: watchers[index].channel, to: &request)
            }
        }
        request += watchEnd
        try watchers[index].channel.send(request)
        watchers[index].phase = .asking
    }

    private func appendCursor(of channel: Channel, to bytes: inout [UInt8]) throws(LoadFailure) {
        let isThere = channel.withBytes { answer in
            let member = ServerKind.cursorMember
            guard let start = answer.end(of: member.before), let end = answer.position(of: member.after, from: start)
            else { return false }
            for position in start..<end { bytes.append(answer[position]) }
            return true
        }
        guard isThere else { throw LoadFailure("no cursor in the beginning of an answer") }
    }

    /// Takes whatever arrives within so many milliseconds.
    private func pump(_ milliseconds: Int32) throws(LoadFailure) {
        for position in 0..<(try readiness.wait(milliseconds)) {
            let name = readiness[position]
            if name < plan.watchers {
                try receive(name)
            } else if name == plan.watchers {
                try receiveControl()
            } else {
                input.read()
                if input.hasEnded { readiness.remove(STDIN_FILENO) }
            }
        }
    }

    private func receive(_ index: Int) throws(LoadFailure) {
        switch try watchers[index].channel.receive(scratch) {
        case .nothing: return
        case .end: throw LoadFailure("the server closed a watcher's connection")
        case .head:
            guard watchers[index].phase == .asking, plan.server.waiting == nil else { return }
            watchers[index].phase = .waiting
            waiting += 1
        case .answer:
            try checkStatus(watchers[index].channel)
            if watchers[index].phase == .greeting {
                greeted += 1
                return try watch(index)
            }
            if watchers[index].phase == .waiting { waiting -= 1 }
            watchers[index].phase = .answered
            answers += 1
            guard index % plan.keys == woken else { return try watch(index) }
            unanswered -= 1
            lastAnswer = max(lastAnswer, watchers[index].channel.arrival)
        }
    }

    private func receiveControl() throws(LoadFailure) {
        switch try control.receive(scratch) {
        case .nothing, .head: return
        case .answer:
            try checkStatus(control)
            isControlAnswered = true
        case .end:
            // Servers close connections that are not used for long, as while watchers are only to wait.
            guard isControlAnswered else { throw LoadFailure("the server closed a connection instead of answering") }
            control.discard()
            control = try Channel(to: plan.port, from: INADDR_LOOPBACK, room: Self.controlRoom)
            try readiness.add(control.socket, name: plan.watchers)
        }
    }

    private func checkStatus(_ channel: Channel) throws(LoadFailure) {
        guard let status = channel.head?.status, status == 200 || status == 201 else {
            throw LoadFailure("the server answered: \(channel.text)")
        }
    }

    private func checkPatience(since began: Double, _ what: String, _ count: Int) throws(LoadFailure) {
        guard monotonicSeconds() - began < Self.patience else {
            throw LoadFailure("after \(Int(Self.patience)) s, \(count) of \(plan.watchers) \(what)")
        }
    }

    private func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
