/// Finds the names that somebody may have meant.
///
/// The work is bounded, however many names there are: names over 64 bytes get no suggestion, and of very many only some
/// are looked at.
public enum NameSuggestion {
    /// The names nearest to `name`, nearest first, then in byte order; none that differ in more than a third of it.
    ///
    /// Distance counts insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) over
    /// the bytes of the names, ASCII letters without their case. After them come names whose last part is as near to a
    /// `name` without dots: `player.volume` for `volume`. Of very many candidates the first are looked at.
    public static func nearest(to name: String, among candidates: some Sequence<String>, limit: Int = 3) -> [String] {
        guard var search = Search(for: name, limit: limit) else { return [] }
        for candidate in candidates {
            guard search.look(at: candidate) else { break }
        }
        return search.names
    }

    /// As the above, among names in the order of their bytes: of very many, those are looked at that stand around the
    /// place where the name would be, and at the places of what a slip may have made it of.
    package static func nearest(
        to name: String, amongOrdered names: some RandomAccessCollection<String>, limit: Int = 3
    ) -> [String] {
        nearest(to: name, limit: limit) { place, count in
            var after = names.position(of: place)
            var before = after
            var neighbours: [String] = []
            neighbours.reserveCapacity(min(count, names.count))
            while neighbours.count < count, before > names.startIndex || after < names.endIndex {
                if after < names.endIndex {
                    neighbours.append(names[after])
                    names.formIndex(after: &after)
                }
                if neighbours.count < count, before > names.startIndex {
                    names.formIndex(before: &before)
                    neighbours.append(names[before])
                }
            }
            return neighbours
        }
    }

    /// As the above, with names from somebody who knows their order.
    ///
    /// - Parameter neighbours: gives so many names around a place in the order, those next to it first; all of them if
    ///   there are no more.
    package static func nearest(
        to name: String, limit: Int = 3, neighbours: (_ place: String, _ count: Int) -> [String]
    ) -> [String] {
        guard var search = Search(for: name, limit: limit) else { return [] }
        let nearby = neighbours(name, mostNearby)
        var isTaken = nearby.prefix(mostFirst).allSatisfy { search.look(at: $0) }
        // Those of slips before the many that only stand further away.
        if nearby.count == mostNearby {
            for place in slips(of: Array(name.utf8)) where isTaken {
                isTaken = neighbours(place, mostAroundSlip).allSatisfy { search.look(at: $0) }
            }
        }
        for name in nearby.dropFirst(mostFirst) where isTaken { isTaken = search.look(at: name) }
        return search.names
    }

    /// `"; did you mean …?"` for the nearest name, or nothing.
    static func phrase(for name: String, among candidates: some Sequence<String>) -> String {
        phrase(nearest(to: name, among: candidates, limit: 1))
    }

    /// `"; did you mean …?"` for the nearest of names in the order of their bytes, or nothing.
    static func phrase(for name: String, amongOrdered names: some RandomAccessCollection<String>) -> String {
        phrase(nearest(to: name, amongOrdered: names, limit: 1))
    }

    private static func phrase(_ nearest: [String]) -> String {
        nearest.first.map { "; did you mean \($0)?" } ?? ""
    }

    private static let mostNearby = 512
    private static let mostFirst = 64
    private static let mostAroundSlip = 2
    /// At so many places of the name from its beginning.
    private static let mostSlips = 32

    /// What somebody may have meant whose name stands elsewhere in the order: the first letter in the other case, two
    /// neighbours swapped, one byte too many.
    private static func slips(of name: [UInt8]) -> [String] {
        var slips: [[UInt8]] = []
        if let first = name.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20) {
            slips.append([first ^ 0x20] + name[1...])
        }
        for place in name.indices.prefix(mostSlips) {
            slips.append(name)
            slips[slips.count - 1].remove(at: place)
            guard place > 0, name[place - 1] != name[place] else { continue }
            slips.append(name)
            slips[slips.count - 1].swapAt(place - 1, place)
        }
        return slips.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The nearest names so far.
private struct Search {
    private static let longestName = 64
    /// About 150 µs.
    private static let mostSteps = 40_000

    /// How near a name is: names that are near as a whole come before those of which only the last part is.
    private struct Rank: Comparable {
        let isLastPart: Bool
        let distance: Int

        static func < (left: Rank, right: Rank) -> Bool {
            left.isLastPart == right.isLastPart ? left.distance < right.distance : right.isLastPart
        }
    }

    private var distances: EditDistance
    private let limit: Int
    /// Whether the name may be the last part of another one.
    private let mayBePart: Bool
    private var matches: [(rank: Rank, name: String)] = []

    init?(for name: String, limit: Int) {
        guard name.utf8.count <= Self.longestName, limit > 0 else { return nil }
        distances = EditDistance(from: name)
        self.limit = limit
        mayBePart = !name.isEmpty && !name.utf8.contains(UInt8(ascii: "."))
    }

    var names: [String] { matches.map(\.name) }

    /// Looks at a candidate; false if it was the last that there is time for.
    mutating func look(at candidate: String) -> Bool {
        // Once enough are found, only those that are as near matter.
        let worst = matches.count == limit ? matches[limit - 1].rank : Rank(isLastPart: true, distance: .max)
        let letters = candidate.utf8Span.span
        let tolerance = worst.isLastPart ? distances.tolerance : worst.distance
        if let distance = distances.distance(to: letters, within: tolerance) {
            insert(candidate, Rank(isLastPart: false, distance: distance))
        } else if worst.isLastPart, mayBePart, let dot = letters.lastDot,
            let distance = distances.distance(
                to: letters.extracting((dot + 1)...), within: min(worst.distance, distances.partTolerance))
        {
            insert(candidate, Rank(isLastPart: true, distance: distance))
        }
        return distances.steps < Self.mostSteps
    }

    private mutating func insert(_ name: String, _ rank: Rank) {
        guard !matches.contains(where: { $0.name.hasSameBytes(as: name) }) else { return }
        let position =
            matches.firstIndex { match in
                match.rank > rank || (match.rank == rank && name.precedesInBytes(match.name))
            } ?? matches.count
        matches.insert((rank, name), at: position)
        if matches.count > limit { matches.removeLast() }
    }
}

extension Span<UInt8> {
    /// Where the last dot stands; nil if there is none.
    fileprivate var lastDot: Int? {
        for index in indices.reversed() where self[index] == UInt8(ascii: ".") { return index }
        return nil
    }
}

extension RandomAccessCollection<String> {
    /// The first position whose name does not come before this one.
    fileprivate func position(of name: String) -> Index {
        var (low, count) = (startIndex, self.count)
        while count > 0 {
            let middle = index(low, offsetBy: count / 2)
            if self[middle].precedesInBytes(name) {
                low = index(after: middle)
                count -= count / 2 + 1
            } else {
                count /= 2
            }
        }
        return low
    }
}

/// The distance of one name, of at most 64 bytes, from many: insertions, deletions, substitutions and swaps of
/// neighbours (optimal string alignment), ASCII letters without their case.
///
/// A column of the table of distances is kept in the bits of a few words and computed in one go (Hyyrö, "A bit-vector
/// algorithm for computing Levenshtein and Damerau edit distances", 2003), so that a byte of a candidate costs the same
/// however long the name is.
struct EditDistance {
    /// How many bytes of candidates were looked at, for whoever bounds that.
    private(set) var steps = 0
    private let count: Int
    /// For each byte the places in the name where it stands.
    private var places = [UInt64](repeating: 0, count: 256)

    init(from name: String) {
        count = name.utf8.count
        for (position, byte) in name.utf8.enumerated() { places[Int(Self.folded(byte))] |= 1 << UInt64(position) }
    }

    /// How far a name may be from this one to be suggested for it.
    var tolerance: Int { max(1, count / 3) }

    /// How far the last part of a name may be from this one for the name to be suggested. Shorter words have to be the
    /// same: many names end in something like them.
    var partTolerance: Int { count / 3 }

    /// The distance, or nil if it is beyond the tolerance.
    mutating func distance(to letters: Span<UInt8>, within tolerance: Int) -> Int? {
        steps += Self.overhead
        guard abs(letters.count - count) <= tolerance else { return nil }
        guard count > 0 else { return letters.count }
        steps += letters.count
        let last: UInt64 = 1 << UInt64(count - 1)
        var distance = count
        // Where a column of the table grows and where it shrinks, from one row to the next.
        var (grows, shrinks) = (UInt64.max, UInt64(0))
        var (isDiagonal, previous) = (UInt64(0), UInt64(0))
        for index in letters.indices {
            let here = places[Int(Self.folded(letters[index]))]
            let swapped = ((~isDiagonal & here) << 1) & previous
            isDiagonal = (((here & grows) &+ grows) ^ grows) | here | shrinks | swapped
            var increases = shrinks | ~(isDiagonal | grows)
            var decreases = isDiagonal & grows
            if increases & last != 0 { distance += 1 }
            if decreases & last != 0 { distance -= 1 }
            // It falls by one with each byte at most.
            if distance - (letters.count - index - 1) > tolerance { return nil }
            increases = increases << 1 | 1
            decreases <<= 1
            grows = decreases | ~(isDiagonal | increases)
            shrinks = increases & isDiagonal
            previous = here
        }
        return distance <= tolerance ? distance : nil
    }

    /// What a candidate costs beside its bytes.
    private static let overhead = 8

    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
