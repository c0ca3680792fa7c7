internal import Glibc

/// Reads a file line by line. The size of the buffer depends on the longest line, not on the size of the file.
package struct LineReader {
    /// A line, or the bytes after the last newline of the file.
    package struct Line {
        /// The line in ``LineReader/buffer`` without its newline. Valid until the next call of ``LineReader/next()``.
        package var range = 0..<0
        /// The offset of the first byte of the line in the file.
        package var offset = 0
        /// The line number. The first line that the reader returns has the number 1.
        package var number = 0
        /// True if the line ends with a newline.
        package var isTerminated = false

        /// Makes an empty line with the number 0, for code that has not read a line yet.
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
    /// The range of the buffer with the bytes that the reader has read from the file and not returned yet.
    private var pending = 0..<0
    /// The offset in the file of the first byte of the buffer.
    private var bufferOffset = 0
    /// The number of the line that was returned last.
    private var number = 0
    /// True if the reader has reached the end of the file.
    private var hasEnded = false

    /// - Parameters:
    ///   - offset: The offset in the file at which the first line begins.
    ///   - bufferSize: The initial size of the buffer.
    package init(_ file: OpenFile, from offset: Int = 0, bufferSize: Int = 1 << 18) {
        self.file = file
        bufferOffset = offset
        buffer = [UInt8](repeating: 0, count: bufferSize)
    }

    /// Returns the next line. Returns nil at the end of the file.
    package mutating func next() throws(FileError) -> Line? {
        var searchStart = pending.lowerBound
        while true {
            if let newline = firstNewline(in: searchStart..<pending.upperBound) {
                return removeLine(upTo: newline, isTerminated: true)
            }
            if hasEnded { return pending.isEmpty ? nil : removeLine(upTo: pending.upperBound, isTerminated: false) }
            // The pending bytes have no newline, so the next search begins after them. `fill` may move these bytes.
            let searchedCount = pending.count
            try fill()
            searchStart = pending.lowerBound + searchedCount
        }
    }

    /// Removes the first line from `pending` and returns it.
    private mutating func removeLine(upTo end: Int, isTerminated: Bool) -> Line {
        number += 1
        let line = Line(
            range: pending.lowerBound..<end, offset: bufferOffset + pending.lowerBound, number: number,
            isTerminated: isTerminated)
        pending = (isTerminated ? end + 1 : end)..<pending.upperBound
        return line
    }

    private func firstNewline(in range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return nil }
        return buffer.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let found = memchr(start + range.lowerBound, Int32(UInt8(ascii: "\n")), range.count)
            else { return nil }
            return start.distance(to: UnsafeRawPointer(found))
        }
    }

    /// Reads more bytes after the pending bytes. First moves the pending bytes to the front, and doubles a full buffer.
    private mutating func fill() throws(FileError) {
        if pending.lowerBound > 0 {
            buffer.withUnsafeMutableBytes { bytes in
                guard let start = bytes.baseAddress, !pending.isEmpty else { return }
                memmove(start, start + pending.lowerBound, pending.count)
            }
            bufferOffset += pending.lowerBound
            pending = 0..<pending.count
        }
        if pending.count == buffer.count { buffer.append(contentsOf: repeatElement(0, count: buffer.count)) }
        let used = pending.upperBound
        let count = try file.read(at: bufferOffset + used, into: &buffer, after: used)
        if count == 0 { hasEnded = true }
        pending = 0..<(used + count)
    }
}
