import Glibc

/// Many watchers and one writer on one thread. The watchers are connections that wait for changes. The writer has a
/// separate connection, the control channel.
final class WatchLoad {
    private enum Phase {
        /// The watcher has sent a request that the server answers at once, and has no answer yet.
        case greeting
        /// The watcher has sent a request that waits for a change.
        case asking
        /// The head of the answer has arrived. etcd sends the head when it begins to wait.
        case waiting
        /// The watcher has a complete answer, and has not sent its next request.
        case answered
    }

    private struct Watcher {
        var channel: Channel
        var phase = Phase.greeting
    }

    /// The maximum number of connections without a first answer, so that the server's queue of new connections does not
    /// fill.
    private static let maximumGreetings = 128
    /// The number of source addresses of the watchers. One address may not have enough ports, and a server may limit
    /// the number of connections of one address.
    private static let sourceAddresses = 32
    /// The buffer of the control channel, in bytes. It must hold the metrics, which are the longest answer.
    private static let controlBufferSize = 1 << 16
    /// The buffer of a watcher, in bytes. It must hold the head of an answer, the cursor and the value.
    private static let watcherBufferSize = 2048
    /// The maximum number of seconds to wait for any event.
    private static let patience = 60.0

    /// The seconds for each watcher that the program waits before it receives the answers to a PUT. Meanwhile, the
    /// answers stay in the sockets, and the kernel records when they arrive. If the program received them earlier, it
    /// would use the processors that the measured server needs.
    private static let pausePerWatcher = 20e-6

    private let plan: LoadPlan
    private let readiness: Readiness
    /// A buffer for bytes that are dropped.
    private let scratch = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    /// The beginning of the request of a watcher for each key, before the cursor.
    private let watchStarts: [[UInt8]]
    /// The end of the request of a watcher, after the cursor.
    private let watchEnd: [UInt8]
    /// A buffer in which the request of a watcher is built.
    private var request: [UInt8] = []
    /// The cursor of the first request of each watcher.
    private var cursor: [UInt8] = []

    private var watchers: [Watcher] = []
    private var control: Channel
    /// True if the last request on the control channel has its answer.
    private var isControlAnswered = true
    private var input = CommandInput()

    /// The number of watchers whose connections the server has accepted.
    private var greeted = 0
    /// The number of watchers whose requests the server has received.
    private var waiting = 0
    /// The number of answers to the watchers since all of them began to wait.
    private var answers = 0
    /// The last stored value. Each PUT stores the next number. All values have eight digits, so that all requests have
    /// the same size.
    private var value = 10_000_000

    /// The key that was changed and whose watchers have no answer yet; nil while the program does not measure.
    private var changedKey: Int?
    /// The number of watchers of the changed key that have no answer yet.
    private var unanswered = 0
    /// The time of the last answer about the changed key, in seconds of the wall clock.
    private var lastAnswer = 0.0

    init(_ plan: LoadPlan) throws(LoadFailure) {
        self.plan = plan
        // The process also has some other descriptors, such as standard input and the control channel.
        try raiseOpenFileLimit(toHold: plan.watchers + 16)
        readiness = try Readiness()
        watchStarts = (0..<plan.keys).map(plan.server.watchStart)
        watchEnd = plan.server.watchEnd(wait: plan.wait)
        control = try Channel(to: plan.port, from: INADDR_LOOPBACK, bufferSize: Self.controlBufferSize)
        watchers.reserveCapacity(plan.watchers)
        request.reserveCapacity(1024)
        // The number of a watcher is its index. The control channel and standard input have the next numbers.
        try readiness.add(control.socket, number: plan.watchers)
        try readiness.add(STDIN_FILENO, number: plan.watchers + 1)
    }

    /// Stores a value for each key, and executes the commands on standard input until its end.
    func run() throws(LoadFailure) {
        for key in 0..<plan.keys { try exchange(nextPut(key)) }
        if let request = plan.server.cursorRequest {
            try exchange(request)
            try appendCursor(of: control, to: &cursor)
        }
        printLine("{\"prepared\":true}")
        var nextKey = 0
        while true {
            while let words = input.next() {
                switch (words.first, words.count) {
                case ("watch", 1):
                    try connectWatchers()
                    try awaitWaitingWatchers()
                    answers = 0
                    printLine("{\"waiting\":\(plan.watchers)}")
                case ("count", 1):
                    printLine("{\"answers\":\(answers)}")
                case ("wake", 2):
                    var seconds: [Double] = []
                    for _ in 0..<(Int(words[1]) ?? 0) {
                        seconds.append(try wake(nextKey))
                        nextKey = (nextKey + 1) % plan.keys
                    }
                    printLine("{\"seconds\":\(seconds)}")
                default:
                    throw LoadFailure("unknown command: \(words.joined(separator: " "))")
                }
            }
            if input.hasEnded { return }
            try handleEvents(within: -1)
        }
    }

    private func connectWatchers() throws(LoadFailure) {
        let began = monotonicSeconds()
        while greeted < plan.watchers {
            while watchers.count < min(plan.watchers, greeted + Self.maximumGreetings) {
                let host = INADDR_LOOPBACK + UInt32(watchers.count % Self.sourceAddresses)
                var channel = try Channel(to: plan.port, from: host, bufferSize: Self.watcherBufferSize)
                try readiness.add(channel.socket, number: watchers.count)
                try channel.send(plan.server.greeting)
                watchers.append(Watcher(channel: channel))
            }
            try handleEvents(within: 100)
            try checkPatience(since: began, "watchers were connected", greeted)
        }
    }

    /// Waits until the server has received the requests of all watchers, so that each watcher waits when a PUT changes
    /// its key.
    private func awaitWaitingWatchers() throws(LoadFailure) {
        let began = monotonicSeconds()
        while true {
            if let request = plan.server.waitingCountRequest {
                try exchange(request)
                let number = control.withBytes { answer in
                    answer.end(of: ServerKind.waitingMetric).flatMap { answer.decimal(from: $0) }
                }
                guard let number else { throw LoadFailure("the metrics of the server have no number of watchers") }
                waiting = number
            }
            if waiting == plan.watchers { return }
            try handleEvents(within: 1)
            try checkPatience(since: began, "watchers waited", waiting)
        }
    }

    /// Changes a key. Returns the seconds from the PUT until the last watcher of the key has its complete answer.
    private func wake(_ key: Int) throws(LoadFailure) -> Double {
        let put = nextPut(key)
        let watchersOfKey = stride(from: key, to: plan.watchers, by: plan.keys)
        for index in watchersOfKey {
            // On the loopback interface, `send` of the server also runs the kernel's code of the receiver. Without
            // epoll and with a delayed acknowledgement, this code takes the server less time.
            readiness.remove(watchers[index].channel.socket)
            delayAcknowledgement(watchers[index].channel.socket)
        }
        (changedKey, unanswered, lastAnswer) = (key, watchersOfKey.underestimatedCount, 0)
        let (patienceBegan, began) = (monotonicSeconds(), wallClockSeconds())
        try control.send(put)
        isControlAnswered = false
        while unanswered > 0 || !isControlAnswered {
            usleep(UInt32(max(1000, Double(unanswered) * Self.pausePerWatcher * 1e6)))
            for index in watchersOfKey where watchers[index].phase != .answered { try receive(index) }
            try handleEvents(within: 0)
            try checkPatience(since: patienceBegan, "watchers had no answer", unanswered)
        }
        changedKey = nil
        let digits = Array(String(value).utf8)
        for index in watchersOfKey {
            guard watchers[index].channel.withBytes({ $0.end(of: digits) }) != nil else {
                throw LoadFailure("the answer to a watcher does not contain the new value")
            }
            try readiness.add(watchers[index].channel.socket, number: index)
            try watch(index)
        }
        try awaitWaitingWatchers()
        return lastAnswer - began
    }

    /// Returns a PUT with a value that was never stored before.
    private func nextPut(_ key: Int) -> [UInt8] {
        value += 1
        return plan.server.put(key: key, value: value)
    }

    /// Sends a request on the control channel, and waits for the answer.
    private func exchange(_ request: [UInt8]) throws(LoadFailure) {
        let began = monotonicSeconds()
        try control.send(request)
        isControlAnswered = false
        while !isControlAnswered {
            try handleEvents(within: 100)
            try checkPatience(since: began)
        }
    }

    /// Sends the next request of a watcher, with the cursor of its last answer. The first request has the initial
    /// cursor.
    private func watch(_ index: Int) throws(LoadFailure) {
        request.removeAll(keepingCapacity: true)
        request += watchStarts[index % plan.keys]
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
        let isFound = channel.withBytes { answer in
            let member = ServerKind.cursorMember
            guard let start = answer.end(of: member.before), let end = answer.position(of: member.after, from: start)
            else { return false }
            for position in start..<end { bytes.append(answer[position]) }
            return true
        }
        guard isFound else { throw LoadFailure("the beginning of an answer does not contain a cursor") }
    }

    /// Waits for answers and commands, at most `milliseconds`, and handles them; -1 for no limit.
    private func handleEvents(within milliseconds: Int32) throws(LoadFailure) {
        for position in 0..<(try readiness.wait(milliseconds)) {
            let number = readiness[position]
            if number < plan.watchers {
                try receive(number)
            } else if number == plan.watchers {
                try receiveControl()
            } else {
                input.read()
                if input.hasEnded { readiness.remove(STDIN_FILENO) }
            }
        }
    }

    private func receive(_ index: Int) throws(LoadFailure) {
        switch try watchers[index].channel.receive(scratch) {
        case .incomplete: return
        case .end: throw LoadFailure("the server closed the connection of a watcher")
        case .head:
            guard watchers[index].phase == .asking, plan.server.waitingCountRequest == nil else { return }
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
            guard index % plan.keys == changedKey else { return try watch(index) }
            unanswered -= 1
            lastAnswer = max(lastAnswer, watchers[index].channel.arrival)
        }
    }

    private func receiveControl() throws(LoadFailure) {
        switch try control.receive(scratch) {
        case .incomplete, .head: return
        case .answer:
            try checkStatus(control)
            isControlAnswered = true
        case .end:
            // Servers close idle connections. The control channel is idle while the watchers only wait.
            guard isControlAnswered else {
                throw LoadFailure("the server closed the control channel without an answer")
            }
            control.close()
            control = try Channel(to: plan.port, from: INADDR_LOOPBACK, bufferSize: Self.controlBufferSize)
            try readiness.add(control.socket, number: plan.watchers)
        }
    }

    private func checkStatus(_ channel: Channel) throws(LoadFailure) {
        guard let status = channel.head?.status, status == 200 || status == 201 else {
            throw LoadFailure("the server answered: \(channel.text)")
        }
    }

    /// Throws if the maximum time to wait is over. The message contains the number of watchers in a state.
    private func checkPatience(since began: Double, _ state: String, _ count: Int) throws(LoadFailure) {
        guard monotonicSeconds() - began < Self.patience else {
            throw LoadFailure("after \(Int(Self.patience)) s, \(count) of \(plan.watchers) \(state)")
        }
    }

    private func checkPatience(since began: Double) throws(LoadFailure) {
        guard monotonicSeconds() - began < Self.patience else {
            throw LoadFailure("the server did not answer a request within \(Int(Self.patience)) s")
        }
    }

    private func printLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
