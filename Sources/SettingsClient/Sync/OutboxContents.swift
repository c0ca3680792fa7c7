internal import SettingsModel

/// What a file of kept writes comes to. It does no input and output.
struct OutboxContents: Sendable {
    /// A write that nobody has ended.
    struct Write: Hashable, Sendable {
        let number: Int64
        var write: PendingChange
        /// How many bytes its line has.
        var size: Int
    }

    /// Whose the file is; nil if it does not say.
    private(set) var owner: KeptOwner?
    /// What is still to be done, in order.
    private(set) var writes: [Write] = []
    /// The highest number that was given to a write.
    private(set) var lastNumber: Int64 = 0
    /// The lines that nobody can read.
    private(set) var damaged: [Range<Int>] = []
    /// Where the last whole line ends. What stands behind it is the beginning of one that was not finished: nobody was
    /// told that it is kept.
    private(set) var end = 0

    /// Reads a file. One of a later version is not to be touched: it may mean what is not known here.
    init(_ bytes: [UInt8]) throws(OutboxLineError) {
        var known: [Int64: Write] = [:]
        while let lineEnd = bytes[end...].firstIndex(of: UInt8(ascii: "\n")) {
            try take(bytes[end..<lineEnd], &known)
            end = lineEnd + 1
        }
        // A line is written with its end. If one is whole without it, that end is what was damaged.
        let rest = bytes[end...]
        if let last = rest.indices.last, (try? OutboxLine(rest[..<last])) != nil {
            try take(rest[..<last], &known)
            damaged.append(last..<bytes.endIndex)
            end = bytes.endIndex
        }
        writes = known.values.sorted { $0.number < $1.number }
    }

    private mutating func take(_ line: ArraySlice<UInt8>, _ known: inout [Int64: Write]) throws(OutboxLineError) {
        do {
            switch try OutboxLine(line) {
            case .head(let owner): self.owner = owner
            case .write(let number, let write):
                known[number] = Write(number: number, write: write, size: line.count + 1)
                lastNumber = max(lastNumber, number)
            case .ended(let number): known[number] = nil
            }
        } catch {
            guard case .damaged = error else { throw error }
            damaged.append(line.startIndex..<line.endIndex)
        }
    }
}
