/// What the command line asks for.
struct LoadPlan {
    static let usage = """
        usage: watch-load SERVER PORT WATCHERS [KEYS [WAIT]]

        Watches KEYS keys (default: 1) at a SERVER on 127.0.0.1:PORT with WATCHERS connections, each with one request in
        flight. SERVER is settingsd, asked to wait for WAIT seconds (default: 300), or etcd with its v2 API, which waits
        as it likes. Says {"prepared":true} once the keys are there, then takes commands, a line each:

          watch       connects all watchers, {"waiting":WATCHERS} once the server holds the requests of all. From then on
                      each watcher that is answered asks again at once
          wake COUNT  puts COUNT times, to one key after another, each time a value that was not there;
                      {"seconds":[...]}, from sending each PUT until the last watcher of its key had its whole answer.
                      They ask again after the last, and the next PUT is sent when all wait
          count       {"answers":COUNT} that watchers had since they came to wait

        It ends with its standard input.
        """

    let server: ServerKind
    let port: UInt16
    let watchers: Int
    let keys: Int
    let wait: Int

    init(_ words: [String]) throws(LoadFailure) {
        func number(_ position: Int, _ range: ClosedRange<Int>, otherwise: Int? = nil) throws(LoadFailure) -> Int {
            if position >= words.count, let otherwise { return otherwise }
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
        keys = try number(3, 1...watchers, otherwise: 1)
        wait = try number(4, 0...300, otherwise: 300)
    }
}
