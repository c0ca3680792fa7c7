/// A tag in the source of a template.
struct TemplateTag {
    /// The bytes of the tag with its braces.
    let range: Range<Int>
    /// The bytes between the braces.
    let content: Range<Int>
    let isComment: Bool
    /// True for a comment and for a tag that begins, divides or ends a block. These tags print nothing.
    let isSilent: Bool
    /// The bytes that do not belong to the text: the tag and, for a silent tag alone in its line, its whole line.
    private(set) var removed: Range<Int>

    /// Finds the tags of a template.
    static func all(in source: [UInt8]) throws(TemplateError) -> [TemplateTag] {
        var (tags, position) = ([TemplateTag](), 0)
        while let start = Self.position(of: "{", in: source, from: position) {
            let tag = try TemplateTag(at: start, in: source)
            tags.append(tag)
            position = tag.range.upperBound
        }
        removeLinesOfSilentTags(&tags, source)
        return tags
    }

    private init(at start: Int, in source: [UInt8]) throws(TemplateError) {
        let first = start + 2
        isComment = first < source.count && source[first] == UInt8(ascii: "!")
        let end =
            isComment
            ? Self.position(of: "}", in: source, from: first) : try Self.end(ofTagFrom: first, in: source)
        guard let end else { throw TemplateError(at: start, "the tag is not closed; }} is missing") }
        content = first..<end
        range = start..<end + 2
        removed = range
        let text = source[content].drop(while: Self.isSpace)
        let isElse = text.starts(with: "else".utf8) && text.dropFirst(4).allSatisfy(Self.isSpace)
        isSilent = isComment || isElse || text.first == UInt8(ascii: "#") || text.first == UInt8(ascii: "/")
    }

    /// The position of the braces that close a tag; nil if there are none. Braces in quotation marks close no tag.
    private static func end(ofTagFrom first: Int, in source: [UInt8]) throws(TemplateError) -> Int? {
        var (position, quote) = (first, Int?.none)
        while position < source.count {
            switch source[position] {
            case UInt8(ascii: "\\") where quote != nil: position += 1
            case UInt8(ascii: "\""): quote = quote == nil ? position : nil
            case UInt8(ascii: "}") where quote == nil && source[position...].starts(with: "}}".utf8): return position
            default: break
            }
            position += 1
        }
        if let quote { throw TemplateError(at: quote, "the text is not closed; a quotation mark is missing") }
        return nil
    }

    /// The position of two equal bytes.
    private static func position(of brace: Unicode.Scalar, in source: [UInt8], from start: Int) -> Int? {
        let byte = UInt8(ascii: brace)
        var position = start
        while position + 1 < source.count {
            if source[position] == byte, source[position + 1] == byte { return position }
            position += 1
        }
        return nil
    }

    /// Removes each line that contains only silent tags and blanks, so that it leaves no empty line.
    private static func removeLinesOfSilentTags(_ tags: inout [TemplateTag], _ source: [UInt8]) {
        var first = 0
        while first < tags.count {
            var last = first
            while last + 1 < tags.count, tags[last + 1].isSilent,
                source[tags[last].range.upperBound..<tags[last + 1].range.lowerBound].allSatisfy(isBlank)
            {
                last += 1
            }
            if tags[first].isSilent, let start = lineStart(before: tags[first].range.lowerBound, source),
                let end = lineEnd(after: tags[last].range.upperBound, source)
            {
                tags[first].removed = start..<tags[first].removed.upperBound
                tags[last].removed = tags[last].removed.lowerBound..<end
            }
            first = last + 1
        }
    }

    /// The start of the line if only blanks precede the position.
    private static func lineStart(before position: Int, _ source: [UInt8]) -> Int? {
        let before = source[..<position]
        let start = before.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
        return start == 0 || source[start - 1] == UInt8(ascii: "\n") ? start : nil
    }

    /// The start of the next line if only blanks follow the position.
    private static func lineEnd(after position: Int, _ source: [UInt8]) -> Int? {
        let rest = source[position...].drop(while: isBlank)
        if rest.isEmpty { return source.count }
        for lineFeed in ["\n", "\r\n"] where rest.starts(with: lineFeed.utf8) {
            return rest.startIndex + lineFeed.utf8.count
        }
        return nil
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    static func isSpace(_ byte: UInt8) -> Bool {
        isBlank(byte) || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
