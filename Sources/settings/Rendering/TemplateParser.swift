import SettingsHTTP
import SettingsModel

/// A recursive-descent parser of templates.
struct TemplateParser {
    private enum BlockKind: String, CaseIterable {
        case `if`
        case each
    }

    /// A block that is not closed yet.
    private struct OpenBlock {
        let kind: BlockKind
        let offset: Int
        /// The reference to the condition, or to the elements of a loop.
        let subject: TemplateReference
        /// The names of the variables of a loop.
        let variables: [String]
        /// True after `{{else}}`.
        var isInElse = false
    }

    private let source: [UInt8]
    private var scanner: TemplateScanner
    /// The names of the variables of all open loops, from the outermost loop to the innermost loop.
    private var variables: [String] = []
    private var suites: [SuiteName] = []

    /// Returns the nodes of a template, and the suites that its tags name.
    static func parse(_ source: [UInt8]) throws(TemplateError) -> (nodes: [TemplateNode], suites: [SuiteName]) {
        if String(validating: source, as: UTF8.self) == nil {
            throw TemplateError(at: 0, "the template is not valid UTF-8")
        }
        var parser = TemplateParser(source)
        return (try parser.parseNodes(in: nil).nodes, parser.suites)
    }

    private init(_ source: [UInt8]) {
        self.source = source
        scanner = TemplateScanner(source)
    }

    /// Reads the nodes up to the end of a block, or up to its `{{else}}`. Without a block, reads to the end of the
    /// template.
    private mutating func parseNodes(
        in block: OpenBlock?
    ) throws(TemplateError) -> (nodes: [TemplateNode], hasElse: Bool) {
        var nodes: [TemplateNode] = []
        while let text = scanner.readTextBeforeTag() {
            scanner.skipSpace()
            let offset = scanner.offset
            if scanner.skip("!") {
                scanner.skipComment()
                try closeSilentTag(after: text, to: &nodes)
            } else if scanner.skip("#") {
                let inner = try parseBlockStart(at: offset)
                try closeSilentTag(after: text, to: &nodes)
                nodes.append(try parseBody(of: inner))
            } else if scanner.skip("/") {
                try checkEnd(of: block, at: offset)
                try closeSilentTag(after: text, to: &nodes)
                return (nodes, false)
            } else if scanner.skipOnlyWord("else") {
                guard let block else { throw TemplateError(at: offset, "{{else}} is in no block") }
                guard !block.isInElse else { throw TemplateError(at: offset, "the block has a second {{else}}") }
                try closeSilentTag(after: text, to: &nodes)
                return (nodes, true)
            } else {
                append(text, to: &nodes)
                nodes.append(.value(try parseReference(), try parseFilters()))
                try scanner.closeTag(at: text.upperBound, expecting: "| and a filter, or }}")
            }
        }
        if let block {
            let name = block.kind.rawValue
            throw TemplateError(at: block.offset, "the block {{#\(name)}} is not closed; {{/\(name)}} is missing")
        }
        append(scanner.offset..<source.count, to: &nodes)
        return (nodes, false)
    }

    private func append(_ text: Range<Int>, to nodes: inout [TemplateNode]) {
        if !text.isEmpty { nodes.append(.text(source[text])) }
    }

    /// Skips the end of a tag that prints nothing, and appends the text before the tag. If a line contains only this
    /// tag and blanks, the result does not contain the line.
    private mutating func closeSilentTag(
        after text: Range<Int>, to nodes: inout [TemplateNode]
    ) throws(TemplateError) {
        try scanner.closeTag(at: text.upperBound)
        append(text.lowerBound..<(scanner.skipLine(ofTagAt: text.upperBound) ?? text.upperBound), to: &nodes)
    }

    /// Reads the name in a tag that closes a block. Throws if the tag does not close this block.
    private mutating func checkEnd(of block: OpenBlock?, at offset: Int) throws(TemplateError) {
        let name = scanner.readWord()
        guard let block else { throw TemplateError(at: offset, "{{/\(Terminal.escaped(name))}} closes no block") }
        guard name == block.kind.rawValue else {
            throw TemplateError(
                at: offset, "expected {{/\(block.kind.rawValue)}}; found {{/\(Terminal.escaped(name))}}")
        }
    }

    /// Reads the tag that opens a block, up to the braces that close the tag.
    private mutating func parseBlockStart(at offset: Int) throws(TemplateError) -> OpenBlock {
        let name = scanner.readWord()
        guard let kind = BlockKind(rawValue: name) else {
            let names = BlockKind.allCases.map(\.rawValue)
            throw TemplateError(
                at: offset,
                "there is no block '#\(Terminal.escaped(name))'\(NameSuggestion.phrase(for: name, among: names)); "
                    + "the blocks are #if and #each")
        }
        scanner.skipSpace()
        let subject = try parseReference()
        return OpenBlock(
            kind: kind, offset: offset, subject: subject, variables: kind == .each ? try parseLoopVariables() : [])
    }

    /// Reads the nodes of a block, and the tag that closes the block.
    private mutating func parseBody(of block: OpenBlock) throws(TemplateError) -> TemplateNode {
        variables += block.variables
        let (body, hasElse) = try parseNodes(in: block)
        variables.removeLast(block.variables.count)
        var elseBlock = block
        elseBlock.isInElse = true
        let otherwise = hasElse ? try parseNodes(in: elseBlock).nodes : []
        switch block.kind {
        case .if: return .condition(block.subject, then: body, otherwise: otherwise)
        case .each:
            return .loop(
                TemplateLoop(elements: block.subject, variables: block.variables, body: body, otherwise: otherwise))
        }
    }

    /// Reads `as ELEMENT, KEY, INDEX`. INDEX, or KEY and INDEX, may be missing.
    private mutating func parseLoopVariables() throws(TemplateError) -> [String] {
        scanner.skipSpace()
        let offset = scanner.offset
        guard scanner.readWord() == "as" else {
            throw TemplateError(
                at: offset, "expected 'as' and a name for the element, as in {{#each app.hosts as host}}")
        }
        var names: [String] = []
        repeat {
            scanner.skipSpace()
            let offset = scanner.offset
            let name = scanner.readWord()
            guard !name.isEmpty else { throw TemplateError(at: offset, "a name is missing\(scanner.foundPhrase)") }
            guard !names.contains(name) else {
                throw TemplateError(at: offset, "the name '\(Terminal.escaped(name))' is given twice")
            }
            names.append(name)
            scanner.skipSpace()
        } while names.count < 3 && scanner.skip(",")
        return names
    }

    private mutating func parseFilters() throws(TemplateError) -> [TemplateFilter] {
        var filters: [TemplateFilter] = []
        scanner.skipSpace()
        while scanner.skip("|") {
            scanner.skipSpace()
            filters.append(try TemplateFilter(&scanner))
            scanner.skipSpace()
        }
        return filters
    }

    /// Reads a reference: a text in quotation marks, a variable of a loop, a setting, or all settings with a prefix.
    private mutating func parseReference() throws(TemplateError) -> TemplateReference {
        let offset = scanner.offset
        let quoted = try scanner.readQuotedText()
        if let quoted, scanner.next != UInt8(ascii: ".") {
            return TemplateReference(offset: offset, root: .literal(quoted), steps: [])
        }
        let name = quoted ?? scanner.readWord()
        guard !name.isEmpty else {
            throw TemplateError(at: offset, "a setting is missing\(scanner.foundPhrase); write SUITE.KEY")
        }
        if quoted == nil, variables.contains(name) {
            return TemplateReference(offset: offset, root: .variable(name), steps: try parseSteps())
        }
        let suite: SuiteName
        do throws(NameError) {
            suite = try SuiteName(name)
        } catch {
            throw TemplateError(at: offset, "'\(Terminal.escaped(name))': \(error)")
        }
        guard scanner.next == UInt8(ascii: ".") else {
            let suggestion = NameSuggestion.phrase(for: name, among: variables)
            throw TemplateError(
                at: offset,
                "a key after '\(suite)' is missing\(suggestion); write \(suite).KEY, or \(suite).* for all keys")
        }
        if !suites.contains(suite) { suites.append(suite) }
        let keyOffset = scanner.offset + 1
        let (text, isPrefix) = try parseKey()
        if isPrefix { return TemplateReference(offset: offset, root: .settings(suite, prefix: text), steps: []) }
        let key: KeyName
        do throws(NameError) {
            key = try KeyName(text)
        } catch {
            throw TemplateError(at: keyOffset, "'\(Terminal.escaped(text))': \(error)")
        }
        return TemplateReference(offset: offset, root: .setting(suite, key), steps: try parseSteps())
    }

    /// Reads the key after a suite. Returns a prefix of keys if the part after the last dot is `*`.
    private mutating func parseKey() throws(TemplateError) -> (text: String, isPrefix: Bool) {
        var parts: [String] = []
        while scanner.skip(".") {
            let isQuoted = scanner.next == UInt8(ascii: "\"")
            let part = try scanner.readName("a name after the dot")
            if part == "*", !isQuoted { return (parts.map { $0 + "." }.joined(), true) }
            parts.append(part)
        }
        return (parts.joined(separator: "."), false)
    }

    /// Reads the steps to a part of a value: `[0]`, `[name]`, `["any name"]` or `.name`. After a key, the first step
    /// has brackets, because a dot belongs to the key.
    private mutating func parseSteps() throws(TemplateError) -> [String] {
        var steps: [String] = []
        while true {
            if scanner.skip("[") {
                steps.append(try scanner.readName("a name or a number in []"))
                guard scanner.skip("]") else {
                    throw TemplateError(at: scanner.offset, "] is missing\(scanner.foundPhrase)")
                }
            } else if scanner.skip(".") {
                steps.append(try scanner.readName("a name after the dot"))
            } else {
                return steps
            }
        }
    }
}
