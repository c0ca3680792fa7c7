/// The command line of `watch-load`.
struct LoadPlan {
    static let usage = """
        usage: watch-load SERVER PORT WATCHERS [KEYS [WAIT]]

        Watches KEYS keys (default: 1, at most WATCHERS) of a server on 127.0.0.1:PORT with WATCHERS connections, each
        with one request in flight. SERVER is settingsd or etcd. The long polls of settingsd wait WAIT seconds (default
        and maximum: 300). etcd (v2 API) chooses its own time. The program stores a value for each key, and prints
        {"prepared":true}. Then it reads commands from standard input, one on each line, and ends at the end of standard
        input:

          watch       connects all watchers. Prints {"waiting":WATCHERS} when the server has received the requests of all
                      watchers. From then on, each watcher sends its next request after each answer
          wake COUNT  sends COUNT PUTs with new values, each to the next key. Prints {"seconds":[...]}: for each PUT, the
                      time until the last watcher of its key has its complete answer. Only then do these watchers send
                      their next requests. The next PUT is sent when all watchers wait again
          count       prints {"answers":COUNT}: the number of answers to the watchers since the command watch
        """

    let server: ServerKind
    let port: UInt16
    let watchers: Int
    let keys: Int
    /// The seconds that a long poll of settingsd waits.
    let wait: Int

    init(_ words: [String]) throws(LoadFailure) {
        func number(_ position: Int, _ range: ClosedRange<Int>, defaultValue: Int? = nil) throws(LoadFailure) -> Int {
            if position >= words.count, let defaultValue { return defaultValue }
            guard position < words.count, let value = Int(words[position]), range.contains(value) else {
                throw LoadFailure(Self.usage)
            }
            return value
        }
        guard (3...5).contains(words.count), let server = ServerKind(rawValue: words[0]) else {
            throw LoadFailure(Self.usage)
        }
        self.server = server
        port = UInt16(try number(1, 1...65535))
        watchers = try number(2, 1...1_000_000)
        keys = try number(3, 1...watchers, defaultValue: 1)
        wait = try number(4, 0...300, defaultValue: 300)
    }
}
