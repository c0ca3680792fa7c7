internal import Glibc
package import SettingsAPI
package import SettingsModel

/// A value that an ordered tree is searched for: a key, or the bytes of one as they came over the wire.
package protocol TreeProbe<Key>: ~Escapable {
    associatedtype Key

    /// A byte that depends on the whole key. Two keys mostly have different ones.
    var mark: UInt8 { get }

    /// True if this is the key.
    func isSame(as key: Key) -> Bool

    /// Negative if this comes before the key, zero if it is the key, positive if it comes after.
    func order(against key: Key) -> Int

    /// The number of units that this and the key have in common from the first on, at most `limit`.
    func sharedPrefix(with key: Key, atMost limit: Int) -> Int

    /// Returns what follows a prefix, as a number. Numbers are ordered as keys are; different keys may have the same.
    func head(behind prefix: Int) -> UInt64
}

/// A key that an ordered tree sorts by.
package protocol TreeKey: TreeProbe, Comparable, Sendable where Key == Self {}

/// An element of an ordered tree.
package protocol TreeElement: Sendable {
    associatedtype Key: TreeKey

    /// The key. It stays the same while the element is in a tree.
    var treeKey: Key { get }
}

extension Span: TreeProbe where Element == UInt8 {
    package var mark: UInt8 { withUnsafeBytes { $0.mark } }
    package func isSame(as key: UTF8Text) -> Bool {
        withUnsafeBytes { bytes in key.withBytes { bytes.isSame(as: $0) } }
    }
    package func order(against key: UTF8Text) -> Int {
        withUnsafeBytes { bytes in key.withBytes { bytes.order(against: $0) } }
    }
    package func sharedPrefix(with key: UTF8Text, atMost limit: Int) -> Int {
        withUnsafeBytes { bytes in key.withBytes { bytes.sharedPrefix(with: $0, atMost: limit) } }
    }
    package func head(behind prefix: Int) -> UInt64 { withUnsafeBytes { $0.head(behind: prefix) } }
}

extension UTF8Text: TreeKey {
    package var mark: UInt8 { withBytes { $0.mark } }
    package func isSame(as key: UTF8Text) -> Bool { withBytes { bytes in key.withBytes { bytes.isSame(as: $0) } } }
    package func order(against key: UTF8Text) -> Int {
        withBytes { bytes in key.withBytes { bytes.order(against: $0) } }
    }
    package func sharedPrefix(with key: UTF8Text, atMost limit: Int) -> Int {
        withBytes { bytes in key.withBytes { bytes.sharedPrefix(with: $0, atMost: limit) } }
    }
    package func head(behind prefix: Int) -> UInt64 { withBytes { $0.head(behind: prefix) } }

    /// Calls the body with the bytes where they stand: a span of them takes three times as long to get.
    @inline(__always)
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        string.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? string.utf8Span.span.withUnsafeBytes(body)
    }
}

extension UnsafeRawBufferPointer {
    /// Mixes all bytes, since keys that stand together may differ anywhere. Names that are chosen to have equal marks
    /// make a search compare each in a leaf, no more.
    fileprivate var mark: UInt8 {
        var mixed = UInt64(truncatingIfNeeded: count)
        var offset = 0
        while offset + 8 <= count {
            mixed = mixed.mixed(with: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        return UInt8(truncatingIfNeeded: mixed.mixed(with: head(behind: offset)) >> 56)
    }

    fileprivate func isSame(as other: Self) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress else { return true }
        return memcmp(left, right, count) == 0
    }

    fileprivate func order(against other: Self) -> Int {
        guard let left = baseAddress, let right = other.baseAddress else { return count - other.count }
        let order = memcmp(left, right, Swift.min(count, other.count))
        return order != 0 ? Int(order) : count - other.count
    }

    fileprivate func sharedPrefix(with other: Self, atMost limit: Int) -> Int {
        let end = Swift.min(count, other.count, limit)
        var index = 0
        while index + 8 <= end {
            let difference =
                loadUnaligned(fromByteOffset: index, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if difference != 0 { return index + UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
            index += 8
        }
        while index < end, self[index] == other[index] { index += 1 }
        return index
    }

    /// Returns eight bytes behind a prefix as a number, with zeros for those that are missing.
    fileprivate func head(behind prefix: Int) -> UInt64 {
        let rest = count - prefix
        guard rest > 0 else { return 0 }
        if rest >= 8 { return UInt64(bigEndian: loadUnaligned(fromByteOffset: prefix, as: UInt64.self)) }
        if count >= 8 {
            let end = UInt64(bigEndian: loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
            return end << UInt64(8 * (8 - rest))
        }
        var head: UInt64 = 0
        for index in prefix..<count { head = head << 8 | UInt64(self[index]) }
        return head << UInt64(8 * (8 - rest))
    }
}

extension UInt64 {
    /// Both halves of a product, so that each bit of a word reaches the highest ones.
    fileprivate func mixed(with word: UInt64) -> UInt64 {
        let product = (self ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}

extension Revision: TreeKey {
    package var mark: UInt8 { UInt8(truncatingIfNeeded: number) }
    package func isSame(as key: Revision) -> Bool { number == key.number }
    package func order(against key: Revision) -> Int { number < key.number ? -1 : number == key.number ? 0 : 1 }
    package func sharedPrefix(with key: Revision, atMost limit: Int) -> Int { 0 }
    package func head(behind prefix: Int) -> UInt64 { UInt64(number) }
}

extension OrderedTree where Element.Key == UTF8Text {
    /// Finds the element with a name.
    package func find(_ name: String) -> Element? {
        find(name.utf8Span.span)
    }

    /// Inserts an element. Replaces the one with the same name and returns it.
    @discardableResult
    package mutating func set(_ element: Element) -> Element? {
        var other = element
        return exchange(&other) ? other : nil
    }

    /// Exchanges an element for the one with the same name. Inserts it and returns false if there is none.
    mutating func exchange(_ element: inout Element) -> Bool {
        let name = element.treeKey.string
        return exchange(&element, under: name.utf8Span.span)
    }

    /// Visits the elements in order, from the first whose name is not before `start`, until `body` returns false.
    func forEach(startingAt start: String, _ body: (Element) -> Bool) {
        forEach(startingAt: UTF8Text(start), body)
    }

    /// Visits the elements whose names begin with a prefix, in order, until `body` returns false.
    func forEach(prefix: String, _ body: (Element) -> Bool) {
        forEach(startingAt: UTF8Text(prefix)) { $0.treeKey.string.hasBytePrefix(prefix) && body($0) }
    }
}

extension OrderedTree where Element.Key == Revision {
    /// Inserts an element behind all others. Returns false, and does nothing, if its key does not come after theirs.
    mutating func append(_ element: Element) -> Bool { append(element, under: element.treeKey) }
}

// Generic code is not specialised in other modules. A start restores every record that there is from a snapshot, so each
// kind of element has a method for that. They return false for an element that is out of order.

extension OrderedTree<KeyRecord> {
    package mutating func restore(_ record: KeyRecord) -> Bool { append(record, under: record.name.utf8Span.span) }
}

extension OrderedTree<Suite> {
    package mutating func restore(_ suite: Suite) -> Bool { append(suite, under: suite.name.utf8Span.span) }
}

extension OrderedTree<SuiteLog> {
    package mutating func restore(_ log: SuiteLog) -> Bool { append(log, under: log.suite.text.utf8Span.span) }
}
