internal import Glibc
package import SettingsAPI
package import SettingsModel

/// A value that an ordered tree is searched for: a key, or the bytes of one as they came over the wire.
package protocol TreeProbe<Key>: ~Escapable {
    associatedtype Key

    /// A byte that depends on the whole key. Two keys mostly have different ones.
    var mark: UInt8 { get }

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
    /// Mixes all bytes, since keys that stand together may differ anywhere. Names that are chosen to have equal marks
    /// make a search compare each in a leaf, no more.
    package var mark: UInt8 {
        withUnsafeBytes { bytes in
            var mixed = UInt64(truncatingIfNeeded: bytes.count)
            var offset = 0
            while offset + 8 <= bytes.count {
                mixed = mixed.mixed(with: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            var rest: UInt64 = 0
            while offset < bytes.count {
                rest = rest << 8 | UInt64(bytes[offset])
                offset += 1
            }
            return UInt8(truncatingIfNeeded: mixed.mixed(with: rest) >> 56)
        }
    }

    package func order(against key: UTF8Text) -> Int {
        let other = key.string.utf8Span.span
        let shared = Swift.min(count, other.count)
        let order = withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard shared > 0, let left = left.baseAddress, let right = right.baseAddress else { return Int32(0) }
                return memcmp(left, right, shared)
            }
        }
        return order != 0 ? Int(order) : count - other.count
    }

    package func sharedPrefix(with key: UTF8Text, atMost limit: Int) -> Int {
        let other = key.string.utf8Span.span
        let end = Swift.min(count, other.count, limit)
        var index = 0
        while index < end, self[index] == other[index] { index += 1 }
        return index
    }

    package func head(behind prefix: Int) -> UInt64 {
        var head: UInt64 = 0
        let end = Swift.min(count, prefix + 8)
        var index = prefix
        while index < end {
            head = head << 8 | UInt64(self[index])
            index += 1
        }
        let missing = prefix + 8 - Swift.max(prefix, end)
        return missing == 8 ? 0 : head << UInt64(missing * 8)
    }
}

extension UInt64 {
    /// Both halves of a product, so that each bit of a word reaches the highest ones.
    fileprivate func mixed(with word: UInt64) -> UInt64 {
        let product = (self ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}

extension UTF8Text: TreeKey {
    package var mark: UInt8 { string.utf8Span.span.mark }
    package func order(against key: UTF8Text) -> Int { string.utf8Span.span.order(against: key) }
    package func sharedPrefix(with key: UTF8Text, atMost limit: Int) -> Int {
        string.utf8Span.span.sharedPrefix(with: key, atMost: limit)
    }
    package func head(behind prefix: Int) -> UInt64 { string.utf8Span.span.head(behind: prefix) }
}

extension Revision: TreeKey {
    package var mark: UInt8 { UInt8(truncatingIfNeeded: number) }
    package func order(against key: Revision) -> Int { number < key.number ? -1 : number == key.number ? 0 : 1 }
    package func sharedPrefix(with key: Revision, atMost limit: Int) -> Int { 0 }
    package func head(behind prefix: Int) -> UInt64 { UInt64(number) }
}

extension OrderedTree where Element.Key == UTF8Text {
    /// Finds the element with a name.
    package func find(_ name: String) -> Element? {
        find(name.utf8Span.span)
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

// Generic code is not specialised in other modules. A start restores every record that there is from a snapshot, so each
// kind of element has a method for that. They return false for an element that is out of order.

extension OrderedTree<KeyRecord> {
    package mutating func restore(_ record: KeyRecord) -> Bool { append(record) }
}

extension OrderedTree<Suite> {
    package mutating func restore(_ suite: Suite) -> Bool { append(suite) }
}

extension OrderedTree<SuiteLog> {
    package mutating func restore(_ log: SuiteLog) -> Bool { append(log) }
}
