internal import Glibc

/// Reads a file line by line, in pieces, so that what it takes in memory is the longest line.
package struct LineReader {
    /// A line, or what stands after the last line end.
    package struct Line {
        /// Where it is in ``LineReader/buffer`` until the next line is read, without its end.
        package var range: Range<Int>
        /// Where it begins in the file.
        package var offset: Int
        /// Its number, from 1.
        package var number: Int
        /// Whether it has an end.
        package var isTerminated: Bool

        package init(range: Range<Int>, offset: Int, number: Int, isTerminated: Bool) {
            self.range = range
            self.offset = offset
            self.number = number
            self.isTerminated = isTerminated
        }

        /// Where the next line begins in the file.
        package var end: Int { offset + range.count + (isTerminated ? 1 : 0) }
    }

    private let file: OpenFile
    package private(set) var buffer: [UInt8]
    /// What is read and not yet given out.
    private var pending = 0..<0
    /// Where the buffer begins in the file.
    private var base = 0
    private var number = 0
    private var hasEnded = false

    package init(_ file: OpenFile, chunk: Int = 1 << 18) {
        self.file = file
        buffer = [UInt8](repeating: 0, count: chunk)
    }

    /// The next line; nil at the end of the file.
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

    /// Reads more behind what is pending, which moves to the front, in a larger buffer if it fills this one.
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
