import SettingsClient

/// The command line of `client-cost`: a measurement with its arguments.
struct Command {
    static let usage = """
        usage: client-cost reads MILLISECONDS [PART] | decodes | writes PORT ROUNDS | memory ADAPTERS [PORT] |
                           keys COUNT

        Measures the time and memory that the Swift client costs its program. Prints a JSON object on each line.

          reads MILLISECONDS [PART]   nanoseconds per read, in three measurements: without a second thread, while a second
                                      thread reads another key, and while a second thread reads the same key. Each
                                      measurement takes MILLISECONDS. With PART, only the reads whose names contain PART
          decodes                     how often the client decodes a Codable value that is read many times after each
                                      of its changes
          writes PORT ROUNDS          microseconds for setting a value at the daemon on 127.0.0.1:PORT, and for sending
                                      the same bytes without the client, in ROUNDS rounds of 50 writes each
          memory ADAPTERS [PORT]      resident bytes per adapter. Each adapter has its own suite: in memory, or at the
                                      daemon on 127.0.0.1:PORT
          keys COUNT                  seconds for the first and for the second reads of COUNT keys, each constructed for
                                      its read, and the resident bytes that remain per key
        """

    private let words: [String]

    init(_ words: [String]) {
        self.words = words
    }

    func run() throws {
        switch words.first {
        case "reads" where words.count == 2 || words.count == 3:
            try measureReads(milliseconds: number(1, 1...10_000), part: words.count == 3 ? words[2] : "")
        case "decodes" where words.count == 1:
            let decoding = try Decoding()
            // Each change of the value makes a new revision.
            write(["revisions": .integer(Int64(decoding.changeCount)), "decodes": .integer(Int64(decoding.decodes))])
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

    /// Returns the integer in a position of the command line. Throws if it is not in the range.
    private func number(_ position: Int, _ range: ClosedRange<Int>) throws -> Int {
        guard let value = Int(words[position]), range.contains(value) else { throw CostFailure(Self.usage) }
        return value
    }

    private func measureReads(milliseconds: Int, part: String) throws {
        Read.storeValues()
        // The first read of a key creates objects that later reads use. It must not be timed.
        for read in Read.all { _ = read.body() }
        for read in Read.all where part.isEmpty || read.name.contains(part) {
            // The second thread reads another key: `launchCount` (index 0) beside a read of `theme`, otherwise `theme`
            // (index 3).
            let other = read.name.contains("theme") ? Read.all[0] : Read.all[3]
            let timing = try ReadTiming(read, other: other, milliseconds: milliseconds)
            // `isCounted`: the value has a reference count, for which two threads that read the same key contend.
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
