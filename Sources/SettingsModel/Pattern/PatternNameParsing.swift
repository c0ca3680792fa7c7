extension PatternParser {
    /// Reads the name of a group and the > behind it, from behind the <.
    mutating func readGroupName() throws(PatternError) -> GroupNames.Name {
        let start = position
        var name: GroupNames.Name = []
        while let scalar = peek() {
            if scalar == ">" {
                guard !name.isEmpty else { break }
                position += 1
                return name
            }
            let offset = position
            position += 1
            var value = scalar.value
            if scalar == "\\" {
                guard consume("u") else {
                    throw .syntax(#"the only escape in the name of a group is \u"#, at: offset)
                }
                value = try readUnicodeEscape(from: offset)
            }
            guard let part = Unicode.Scalar(value), isNamePart(part, first: name.isEmpty) else {
                throw .syntax("the name of a group must be an identifier", at: offset)
            }
            name.append(value)
        }
        throw .syntax(
            name.isEmpty ? "the name of the group is missing" : "the name of the group is not closed with >", at: start)
    }

    private func isNamePart(_ scalar: Unicode.Scalar, first: Bool) -> Bool {
        switch scalar {
        case "$", "_": true
        case "\u{200C}", "\u{200D}": !first
        default: first ? scalar.properties.isIDStart : scalar.properties.isIDContinue
        }
    }
}
