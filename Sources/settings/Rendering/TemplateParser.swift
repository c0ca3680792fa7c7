import SettingsHTTP
import SettingsModel

/// A parser of templates.
struct TemplateParser {
    private enum Block: String, CaseIterable {
        case `if`
        case each
    }

    /// A block that is not closed yet.
    private struct OpenBlock {
        let kind: Block
        let offset: Int
        /// True behind `{{else}}`.
        var isInElse = false
    }

    private let source: [UInt8]
    private var tags: ArraySlice<TemplateTag>
    /// The end of the bytes that have been read.
    private var position = 0
    /// The variables of the open loops; an inner loop comes after an outer loop.
    private var variables: [String] = []
    private(set) var suites: [SuiteName] = []

    init(_ source: [UInt8], tags: [TemplateTag]) {
        (self.source, self.tags) = (source, tags[...])
    }

    mutating func template() throws(TemplateError) -> [TemplateNode] {
        if String(validating: source, as: UTF8.self) == nil {
            throw TemplateError(at: 0, "the template is not valid UTF-8")
        }
        return try nodes(in: nil).nodes
    }

    /// Reads the nodes up to the end of a block, or up to its `{{else}}`. Without a block, reads to the end of the template.
    private mutating func nodes(
        in block: OpenBlock?
    ) throws(TemplateError) -> (nodes: [TemplateNode], hasElse: Bool) {
        var nodes: [TemplateNode] = []
        while let tag = tags.popFirst() {
            appendText(upTo: tag.removed.lowerBound, to: &nodes)
            position = tag.removed.upperBound
            guard !tag.isComment else { continue }
            var scanner = TemplateScanner(source, tag.content)
            scanner.skipSpace()
            let offset = scanner.offset
            if scanner.skip("#") {
                nodes.append(try openedBlock(&scanner, at: offset))
            } else if scanner.skip("/") {
                try close(block, &scanner, at: offset)
                return (nodes, false)
            } else if tag.isSilent {
                guard let block else { throw TemplateError(at: offset, "{{else}} is in no block") }
                guard !block.isInElse else { throw TemplateError(at: offset, "the block has a second {{else}}") }
                return (nodes, true)
            } else {
                let reference = try reference(&scanner)
                nodes.append(.value(reference, try filters(&scanner)))
            }
        }
        if let block {
            let name = block.kind.rawValue
            throw TemplateError(at: block.offset, "the block {{#\(name)}} is not closed; {{/\(name)}} is missing")
        }
        appendText(upTo: source.count, to: &nodes)
        return (nodes, false)
    }

    private mutating func appendText(upTo end: Int, to nodes: inout [TemplateNode]) {
        if position < end { nodes.append(.text(source[position..<end])) }
    }

    private func close(
        _ block: OpenBlock?, _ scanner: inout TemplateScanner, at offset: Int
    ) throws(TemplateError) {
        let name = scanner.word()
        guard let block else { throw TemplateError(at: offset, "{{/\(Terminal.plain(name))}} closes no block") }
        guard name == block.kind.rawValue else {
            throw TemplateError(
                at: offset, "expected {{/\(block.kind.rawValue)}}; found {{/\(Terminal.plain(name))}}")
        }
        try scanner.requireEnd(orElse: "}}")
    }

    private mutating func openedBlock(
        _ scanner: inout TemplateScanner, at offset: Int
    ) throws(TemplateError) -> TemplateNode {
        let name = scanner.word()
        guard let kind = Block(rawValue: name) else {
            let names = Block.allCases.map(\.rawValue)
            throw TemplateError(
                at: offset,
                "there is no block '#\(Terminal.plain(name))'\(NameSuggestion.phrase(for: name, among: names)); "
                    + "the blocks are #if and #each")
        }
        var block = OpenBlock(kind: kind, offset: offset)
        scanner.skipSpace()
        let subject = try reference(&scanner)
        let names = kind == .each ? try loopVariables(&scanner) : []
        try scanner.requireEnd(orElse: "}}")
        variables += names
        let (body, hasElse) = try nodes(in: block)
        variables.removeLast(names.count)
        block.isInElse = true
        let otherwise = hasElse ? try nodes(in: block).nodes : []
        switch kind {
        case .if: return .condition(subject, then: body, otherwise: otherwise)
        case .each:
            return .loop(TemplateLoop(elements: subject, variables: names, body: body, otherwise: otherwise))
        }
    }

    /// Reads `as ELEMENT, KEY, INDEX`; the last names may be missing.
    private func loopVariables(_ scanner: inout TemplateScanner) throws(TemplateError) -> [String] {
        scanner.skipSpace()
        let offset = scanner.offset
        guard scanner.word() == "as" else {
            throw TemplateError(
                at: offset, "expected 'as' and a name for the element, as in {{#each app.hosts as host}}")
        }
        var names: [String] = []
        repeat {
            scanner.skipSpace()
            let offset = scanner.offset
            let name = scanner.word()
            guard !name.isEmpty else { throw TemplateError(at: offset, "a name is missing\(scanner.found)") }
            guard !names.contains(name) else {
                throw TemplateError(at: offset, "the name '\(Terminal.plain(name))' is given twice")
            }
            names.append(name)
            scanner.skipSpace()
        } while names.count < 3 && scanner.skip(",")
        return names
    }

    private func filters(_ scanner: inout TemplateScanner) throws(TemplateError) -> [TemplateFilter] {
        var filters: [TemplateFilter] = []
        scanner.skipSpace()
        while scanner.skip("|") {
            scanner.skipSpace()
            filters.append(try TemplateFilter(&scanner))
            scanner.skipSpace()
        }
        try scanner.requireEnd(orElse: "| and a filter, or }}")
        return filters
    }

    /// Reads a path or a text in quotation marks.
    private mutating func reference(_ scanner: inout TemplateScanner) throws(TemplateError) -> TemplateReference {
        let offset = scanner.offset
        let quoted = try scanner.quotedText()
        if let quoted, scanner.next != UInt8(ascii: ".") {
            return TemplateReference(offset: offset, root: .literal(quoted), steps: [])
        }
        let name = quoted ?? scanner.word()
        guard !name.isEmpty else {
            throw TemplateError(at: offset, "a setting is missing\(scanner.found); write SUITE.KEY")
        }
        if quoted == nil, variables.contains(name) {
            return TemplateReference(offset: offset, root: .variable(name), steps: try steps(&scanner))
        }
        let suite: SuiteName
        do throws(NameError) {
            suite = try SuiteName(name)
        } catch {
            throw TemplateError(at: offset, "'\(Terminal.plain(name))': \(error)")
        }
        guard scanner.next == UInt8(ascii: ".") else {
            let known = NameSuggestion.phrase(for: name, among: variables)
            throw TemplateError(
                at: offset, "'\(suite)' has no key\(known); write \(suite).KEY, or \(suite).* for all keys")
        }
        if !suites.contains(suite) { suites.append(suite) }
        let keyOffset = scanner.offset + 1
        let (text, isPrefix) = try key(&scanner)
        if isPrefix { return TemplateReference(offset: offset, root: .settings(suite, prefix: text), steps: []) }
        let key: KeyName
        do throws(NameError) {
            key = try KeyName(text)
        } catch {
            throw TemplateError(at: keyOffset, "'\(Terminal.plain(text))': \(error)")
        }
        return TemplateReference(offset: offset, root: .setting(suite, key), steps: try steps(&scanner))
    }

    /// Reads the parts of a key behind the suite. Returns a prefix if the last part is `*`.
    private func key(_ scanner: inout TemplateScanner) throws(TemplateError) -> (text: String, isPrefix: Bool) {
        var parts: [String] = []
        while scanner.skip(".") {
            let isQuoted = scanner.next == UInt8(ascii: "\"")
            let part = try scanner.name("a name after the dot")
            if part == "*", !isQuoted { return (parts.map { $0 + "." }.joined(), true) }
            parts.append(part)
        }
        return (parts.joined(separator: "."), false)
    }

    /// Reads the steps to a part of a value: `[0]`, `[name]` or `["any name"]`, then also `.name`.
    private func steps(_ scanner: inout TemplateScanner) throws(TemplateError) -> [String] {
        var steps: [String] = []
        while true {
            if scanner.skip("[") {
                steps.append(try scanner.name("a name or a number in []"))
                guard scanner.skip("]") else {
                    throw TemplateError(at: scanner.offset, "] is missing\(scanner.found)")
                }
            } else if scanner.skip(".") {
                steps.append(try scanner.name("a name after the dot"))
            } else {
                return steps
            }
        }
    }
}
