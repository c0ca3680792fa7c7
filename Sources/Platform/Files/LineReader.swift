internal import Glibc

/// A reader that returns a file line by line and holds no more than the longest line in memory.
package struct LineReader {
    /// A line, or what follows the last line end.
    package struct Line {
        /// Its bytes in ``LineReader/buffer``, without the line end, until the next line is read.
        package var range = 0..<0
        /// Its first byte in the file.
        package var offset = 0
        /// Its number, from 1.
        package var number = 0
        /// True if it has a line end.
        package var isTerminated = false

        /// Makes a line before the first.
        package init() {}

        fileprivate init(range: Range<Int>, offset: Int, number: Int, isTerminated: Bool) {
            self.range = range
            self.offset = offset
            self.number = number
            self.isTerminated = isTerminated
        }
    }

    private let file: OpenFile
    package private(set) var buffer: [UInt8]
    /// The bytes of the buffer that were read and not returned yet.
    private var pending = 0..<0
    /// The place of the buffer in the file.
    private var base = 0
    private var number = 0
    private var hasEnded = false

    /// - Parameter offset: where the first line begins.
    package init(_ file: OpenFile, from offset: Int = 0, chunk: Int = 1 << 18) {
        self.file = file
        base = offset
        buffer = [UInt8](repeating: 0, count: chunk)
    }

    /// Returns the next line; nil at the end of the file.
    package mutating func next() throws(FileError) -> Line? {
        var searched = pending.lowerBound
        while true {
            if let end = lineEnd(in: searched..<pending.upperBound) {
                return take(upTo: end, isTerminated: true)
            }
            if hasEnded { return pending.isEmpty ? nil : take(upTo: pending.upperBound, isTerminated: false) }
            let unsearched = pending.count
            try fill()
            searched = pending.lowerBound + unsearched
        }
    }

    private mutating func take(upTo end: Int, isTerminated: Bool) -> Line {
        number += 1
        let line = Line(
            range: pending.lowerBound..<end, offset: base + pending.lowerBound, number: number,
            isTerminated: isTerminated)
        pending = (isTerminated ? end + 1 : end)..<pending.upperBound
        return line
    }

    private func lineEnd(in range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return nil }
        return buffer.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let found = memchr(start + range.lowerBound, Int32(UInt8(ascii: "\n")), range.count)
            else { return nil }
            return start.distance(to: UnsafeRawPointer(found))
        }
    }

    /// Moves the pending bytes to the front, doubles a buffer that they fill, and reads more behind them.
    private mutating func fill() throws(FileError) {
        if pending.lowerBound > 0 {
            buffer.withUnsafeMutableBytes { bytes in
                guard let start = bytes.baseAddress, !pending.isEmpty else { return }
                memmove(start, start + pending.lowerBound, pending.count)
            }
            base += pending.lowerBound
            pending = 0..<pending.count
        }
        if pending.count == buffer.count { buffer.append(contentsOf: repeatElement(0, count: buffer.count)) }
        let used = pending.upperBound
        let count = try file.read(at: base + used, into: &buffer, behind: used)
        if count == 0 { hasEnded = true }
        pending = 0..<(used + count)
    }
}
