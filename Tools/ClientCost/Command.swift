import SettingsClient

/// What the command line asks for.
struct Command {
    static let usage = """
        usage: client-cost reads MILLISECONDS [PART] | decodes | writes PORT ROUNDS | memory ADAPTERS [PORT] |
                           keys COUNT

        Measures what the Swift client costs its program, and prints figures as JSON.

          reads MILLISECONDS [PART]   nanoseconds a read, for so long each way: on one thread, beside another that reads
                                      another key, and beside one that reads the same; of reads with PART in their names
          decodes                     how often a Codable value is decoded while it is read at each of its revisions
          writes PORT ROUNDS          microseconds a set through the daemon on PORT of 127.0.0.1, and those of a bare
                                      exchange of the same bytes; in ROUNDS rounds of 50 each
          memory ADAPTERS [PORT]      resident bytes an adapter, with a suite of its own in memory or at that daemon
          keys COUNT                  seconds for the first reads of so many keys that are made for them, and for the
                                      second; resident bytes kept for each
        """

    private let words: [String]

    init(_ words: [String]) {
        self.words = words
    }

    func run() throws {
        switch words.first {
        case "reads" where words.count == 2 || words.count == 3:
            try reads(milliseconds: number(1, 1...10_000), part: words.count == 3 ? words[2] : "")
        case "decodes" where words.count == 1:
            let decoding = try Decoding()
            write(["revisions": .integer(Int64(decoding.revisions)), "decodes": .integer(Int64(decoding.decodes))])
        case "writes" where words.count == 3:
            let writes = try Writes(port: UInt16(number(1, 1...65535)), rounds: number(2, 1...100_000))
            write(["set": .double(writes.set), "exchange": .double(writes.exchange)])
        case "memory" where words.count == 2 || words.count == 3:
            let port = words.count == 3 ? UInt16(try number(2, 1...65535)) : nil
            let memory = try Memory(port: port, adapters: number(1, 1...10_000))
            write(["bytesPerAdapter": .integer(Int64(memory.bytesPerAdapter))])
        case "keys" where words.count == 2:
            let keys = try KeysAtRunTime(count: number(1, 1...10_000_000))
            write([
                "firstReads": .double(keys.firstReads), "secondReads": .double(keys.secondReads),
                "bytesPerKey": .integer(Int64(keys.bytesPerKey)),
            ])
        default:
            throw CostFailure(Self.usage)
        }
    }

    private func number(_ position: Int, _ range: ClosedRange<Int>) throws -> Int {
        guard let value = Int(words[position]), range.contains(value) else { throw CostFailure(Self.usage) }
        return value
    }

    private func reads(milliseconds: Int, part: String) throws {
        Read.prepare()
        // What is made at the first read is made before any is timed.
        for read in Read.all { _ = read.body() }
        for read in Read.all where part.isEmpty || read.name.contains(part) {
            let other = read.name.contains("theme") ? Read.all[0] : Read.all[3]
            let timing = try ReadTiming(read, other: other, milliseconds: milliseconds)
            write([
                "read": .string(read.name), "alone": .double(timing.alone), "besideOther": .double(timing.besideOther),
                "besideSame": .double(timing.besideSame), "isCounted": .bool(read.isCounted),
            ])
        }
    }

    private func write(_ figures: JSONObject) {
        print(JSONValue.object(figures))
    }
}
