internal import Glibc

/// What has come and has not been used yet. Taking from its start costs what is taken, however much is behind it.
struct ReceivedBytes {
    private var bytes: [UInt8] = []
    private var start = 0

    var isEmpty: Bool { start == bytes.count }
    var count: Int { bytes.count - start }
    var text: String { String(decoding: bytes[start...], as: UTF8.self) }

    mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let taken = bytes[start..<(start + count)]
        start += count
        if start == bytes.count {
            bytes = []
            start = 0
        }
        return taken
    }

    mutating func takeAll() -> [UInt8] {
        Array(take(count))
    }

    /// Takes everything up to the end of the first place where the mark stands; nil if it stands nowhere.
    mutating func take(through mark: String) -> ArraySlice<UInt8>? {
        let mark = Array(mark.utf8)
        guard let last = mark.last, count >= mark.count else { return nil }
        var end = start + mark.count
        // What is large comes in many pieces, and each is looked through again: byte by byte would take long.
        let length = bytes.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            while end <= bytes.count, let found = memchr(base + (end - 1), Int32(last), bytes.count - end + 1) {
                end = UnsafeRawPointer(found) - base + 1
                if bytes[(end - mark.count)..<end].elementsEqual(mark) { return end - start }
                end += 1
            }
            return nil
        }
        return length.map { take($0) }
    }
}
