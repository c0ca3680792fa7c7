extension String {
    /// The number of columns that the text takes on a terminal.
    var displayWidth: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.displayWidth }
    }

    /// Returns the longest prefix that takes at most this number of columns.
    func prefix(ofWidth width: Int) -> Substring {
        var remainingColumns = width
        return prefix { character in
            remainingColumns -= character.displayWidth
            return remainingColumns >= 0
        }
    }

    /// Returns the text with trailing spaces up to this number of columns.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - displayWidth))
    }
}

extension Character {
    /// The columns of the character on a terminal: two for East Asian characters and emoji, zero for combining marks
    /// and invisible format characters without a base character.
    fileprivate var displayWidth: Int {
        unicodeScalars.reduce(0) { width, scalar in
            // An emoji presentation selector makes the character before it wide.
            max(width, scalar.value == 0xFE0F ? 2 * min(width, 1) : scalar.displayWidth)
        }
    }
}

extension Unicode.Scalar {
    fileprivate var displayWidth: Int {
        switch value {
        case 0..<0x300: return 1
        // The wide and full-width blocks of Unicode Standard Annex #11.
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18D08, 0x1B000...0x1B2FB,
            0x20000...0x3FFFD:
            return 2
        default: break
        }
        if properties.isEmojiPresentation { return 2 }
        return [.nonspacingMark, .enclosingMark, .format].contains(properties.generalCategory) ? 0 : 1
    }
}
