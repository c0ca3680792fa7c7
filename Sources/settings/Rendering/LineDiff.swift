/// The differences between two texts in the unified format of `diff -u`.
struct LineDiff {
    private enum Line {
        case kept(ArraySlice<UInt8>)
        case removed(ArraySlice<UInt8>)
        case added(ArraySlice<UInt8>)

        var isKept: Bool { if case .kept = self { true } else { false } }
    }

    /// The number of unchanged lines around a change.
    private static let context = 3

    private var lines: [Line] = []

    init(from old: [UInt8], to new: [UInt8]) {
        let (oldLines, newLines) = (Self.lines(of: old), Self.lines(of: new))
        let difference = newLines.difference(from: oldLines)
        var (removed, added) = (Set<Int>(), Set<Int>())
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        var (oldPosition, newPosition) = (0, 0)
        while oldPosition < oldLines.count || newPosition < newLines.count {
            if removed.contains(oldPosition) {
                lines.append(.removed(oldLines[oldPosition]))
                oldPosition += 1
            } else if added.contains(newPosition) {
                lines.append(.added(newLines[newPosition]))
                newPosition += 1
            } else {
                lines.append(.kept(newLines[newPosition]))
                oldPosition += 1
                newPosition += 1
            }
        }
    }

    /// Returns the text of the differences; empty if there are none.
    func text(oldName: String, newName: String) -> [UInt8] {
        var text: [UInt8] = []
        var (oldLine, newLine, position) = (1, 1, 0)
        while let first = lines[position...].firstIndex(where: { !$0.isKept }) {
            if text.isEmpty { text += "--- \(oldName)\n+++ \(newName)\n".utf8 }
            let start = max(position, first - Self.context)
            // The lines that are skipped are unchanged.
            oldLine += start - position
            newLine += start - position
            let end = endOfHunk(from: first)
            let hunk = lines[start..<end]
            let oldCount = hunk.count { if case .added = $0 { false } else { true } }
            let newCount = hunk.count { if case .removed = $0 { false } else { true } }
            text += "@@ -\(Self.range(oldLine, oldCount)) +\(Self.range(newLine, newCount)) @@\n".utf8
            for line in hunk {
                switch line {
                case .kept(let bytes): Self.append(" ", bytes, to: &text)
                case .removed(let bytes): Self.append("-", bytes, to: &text)
                case .added(let bytes): Self.append("+", bytes, to: &text)
                }
            }
            oldLine += oldCount
            newLine += newCount
            position = end
        }
        return text
    }

    /// The end of the hunk that begins with a change: the lines behind its last change. Changes with few lines between
    /// them are in one hunk.
    private func endOfHunk(from first: Int) -> Int {
        var last = first
        while let next = lines[(last + 1)...].firstIndex(where: { !$0.isKept }), next - last <= 2 * Self.context + 1 {
            last = next
        }
        return min(lines.count, last + 1 + Self.context)
    }

    /// The range of lines of a hunk. An empty range is written with the number of the line before it.
    private static func range(_ start: Int, _ count: Int) -> String {
        count == 1 ? "\(start)" : "\(count == 0 ? start - 1 : start),\(count)"
    }

    private static func append(_ sign: String, _ line: ArraySlice<UInt8>, to text: inout [UInt8]) {
        text += sign.utf8
        text += line
        if line.last != UInt8(ascii: "\n") { text += "\n\\ No newline at end of file\n".utf8 }
    }

    /// The lines with their line ends.
    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var (lines, start) = ([ArraySlice<UInt8>](), 0)
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
            lines.append(bytes[start..<end])
            start = end
        }
        return lines
    }
}
