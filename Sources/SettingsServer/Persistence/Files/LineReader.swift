/// Reads a file line by line, in large pieces.
struct LineReader: ~Copyable {
    private static let piece = 1 << 20

    private let file: OpenFile
    private var buffer: [UInt8] = []
    /// Where in the file the buffer ends.
    private var end = 0
    /// Where in the buffer the next line begins.
    private var position = 0
    private var isAtEnd = false

    init(_ file: OpenFile) {
        self.file = file
    }

    /// Where in the file the next line begins.
    var offset: Int { end - (buffer.count - position) }

    /// Passes the next line, without its end, to a closure; nil if there is no complete one any more.
    mutating func next<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(FileError) -> Swift.Result<Result, Failure>? {
        var searched = position
        while true {
            if let lineEnd = Self.lineEnd(in: buffer.span, from: searched) {
                let start = position
                position = lineEnd + 1
                let line = buffer.span.extracting(start..<lineEnd)
                let result: Swift.Result<Result, Failure>
                do throws(Failure) {
                    result = .success(try body(line))
                } catch {
                    result = .failure(error)
                }
                return result
            }
            searched = buffer.count - position
            guard !isAtEnd else { return nil }
            try fill()
        }
    }

    /// What is left behind the last complete line. To be asked for when there are no more lines.
    var rest: ArraySlice<UInt8> { buffer[position...] }

    private static func lineEnd(in bytes: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\n") { return index }
            index &+= 1
        }
        return nil
    }

    private mutating func fill() throws(FileError) {
        buffer.removeFirst(position)
        position = 0
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 1)
        defer { piece.deallocate() }
        let count = try file.read(at: end, into: piece)
        buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[..<count]))
        end += count
        isAtEnd = count == 0
    }
}
