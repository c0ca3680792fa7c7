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
        guard count >= mark.count else { return nil }
        for end in (start + mark.count)...bytes.count where bytes[(end - mark.count)..<end].elementsEqual(mark) {
            return take(end - start)
        }
        return nil
    }
}
