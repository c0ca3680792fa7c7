import SettingsModel

/// A template: text with tags in `{{ }}`. A tag stands for a value, or begins or ends a block, or is a comment.
struct Template: Sendable {
    /// The suites that the tags name, without duplicates.
    let suites: [SuiteName]
    /// The name of the file, or of standard input, for error messages.
    private let name: String
    private let source: [UInt8]
    private let nodes: [TemplateNode]

    /// Parses a template. Throws an error with the line and the column of the first mistake.
    init(_ source: [UInt8], name: String) throws(ToolError) {
        (self.name, self.source) = (name, source)
        do throws(TemplateError) {
            (nodes, suites) = try TemplateParser.parse(source)
        } catch {
            throw Self.error(error, in: source, name)
        }
    }

    /// Renders the template. The result contains secrets only if `showsSecrets` is true.
    func render(_ settings: SettingsSnapshot, showsSecrets: Bool) throws(ToolError) -> [UInt8] {
        do throws(TemplateError) {
            return try TemplateRenderer(settings, showsSecrets: showsSecrets).render(nodes)
        } catch {
            throw Self.error(error, in: source, name)
        }
    }

    /// Makes an error with the line and the column in the file.
    private static func error(_ error: TemplateError, in source: [UInt8], _ name: String) -> ToolError {
        let before = source[..<min(error.offset, source.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        // Columns are characters, not bytes, because most editors count characters.
        let column = String(decoding: before[lineStart...], as: UTF8.self).count + 1
        return ToolError(error.code, "cannot render \(Terminal.escaped(name)):\(line):\(column): \(error.message)")
    }
}

/// A part of a template.
enum TemplateNode: Sendable {
    case text(ArraySlice<UInt8>)
    /// A tag for a value, with its filters.
    case value(TemplateReference, [TemplateFilter])
    /// `{{#if}}`.
    indirect case condition(TemplateReference, then: [TemplateNode], otherwise: [TemplateNode])
    /// `{{#each}}`.
    indirect case loop(TemplateLoop)
}

/// A block that is rendered once for each element of an array or an object.
struct TemplateLoop: Sendable {
    let elements: TemplateReference
    /// The names of the variables for the element, its key and its index; at least the name for the element.
    let variables: [String]
    let body: [TemplateNode]
    /// The nodes that are rendered if there are no elements.
    let otherwise: [TemplateNode]
}

/// A reference of a tag to a value.
struct TemplateReference: Sendable {
    enum Root: Sendable {
        /// A text in quotation marks.
        case literal(String)
        case setting(SuiteName, KeyName)
        /// The settings whose keys begin with a prefix, as an object.
        case settings(SuiteName, prefix: String)
        /// A variable of a loop.
        case variable(String)
    }

    /// The offset in the source of the template.
    let offset: Int
    let root: Root
    /// The names of members and the indices of elements that lead from the value of `root` to the named part of this
    /// value. Empty for the whole value.
    let steps: [String]
}

/// A mistake in a template, or a reason why the settings do not fit the template.
struct TemplateError: Error {
    /// The offset in the source of the template.
    let offset: Int
    let message: String
    let code: ExitCode

    init(at offset: Int, _ message: String, code: ExitCode = .failed) {
        (self.offset, self.message, self.code) = (offset, message, code)
    }
}
