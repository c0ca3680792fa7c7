/// The differences between two texts in the unified format of `diff -u`.
struct LineDiff {
    private struct Line {
        /// A space for an unchanged line, or `-` or `+`.
        let sign: UInt8
        let bytes: ArraySlice<UInt8>
        /// True if a hunk contains the line.
        var isShown = false

        init(_ sign: Unicode.Scalar, _ bytes: ArraySlice<UInt8>) {
            (self.sign, self.bytes) = (UInt8(ascii: sign), bytes)
        }
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
            let (isRemoved, isAdded) = (removed.contains(oldPosition), added.contains(newPosition))
            if isRemoved {
                lines.append(Line("-", oldLines[oldPosition]))
            } else {
                lines.append(Line(isAdded ? "+" : " ", newLines[newPosition]))
            }
            if isRemoved || !isAdded { oldPosition += 1 }
            if !isRemoved { newPosition += 1 }
        }
        for index in lines.indices where lines[index].sign != UInt8(ascii: " ") {
            for nearby in max(0, index - Self.context)...min(lines.count - 1, index + Self.context) {
                lines[nearby].isShown = true
            }
        }
    }

    /// Returns the differences as text. The text is empty if there are no differences.
    func text(oldName: String, newName: String) -> [UInt8] {
        var text: [UInt8] = []
        var (oldLine, newLine, position) = (1, 1, 0)
        while position < lines.count {
            let isHunk = lines[position].isShown
            let end = lines[position...].firstIndex { $0.isShown != isHunk } ?? lines.count
            let part = lines[position..<end]
            let oldCount = part.count { $0.sign != UInt8(ascii: "+") }
            let newCount = part.count { $0.sign != UInt8(ascii: "-") }
            if isHunk {
                if text.isEmpty { text += "--- \(oldName)\n+++ \(newName)\n".utf8 }
                text += "@@ -\(Self.range(oldLine, oldCount)) +\(Self.range(newLine, newCount)) @@\n".utf8
                for line in part {
                    text.append(line.sign)
                    text += line.bytes
                    if line.bytes.last != UInt8(ascii: "\n") { text += "\n\\ No newline at end of file\n".utf8 }
                }
            }
            oldLine += oldCount
            newLine += newCount
            position = end
        }
        return text
    }

    /// Returns the range of lines for the header of a hunk. An empty range begins with the number of the line before
    /// the hunk.
    private static func range(_ start: Int, _ count: Int) -> String {
        count == 1 ? "\(start)" : "\(count == 0 ? start - 1 : start),\(count)"
    }

    /// Splits a text into lines, which keep their line ends.
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
