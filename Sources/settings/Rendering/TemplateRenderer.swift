import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Renders the nodes of a template. The result depends only on the nodes and on the settings of the snapshot.
struct TemplateRenderer {
    private let settings: [SuiteName: [KeyName: EffectiveSetting]]
    /// The errors of the daemon for the suites that do not exist.
    private let missing: [SuiteName: ToolError]
    /// True if the result may contain secrets.
    private let showsSecrets: Bool
    /// The values of the variables of all loops around a node.
    private var variables: [String: JSONValue] = [:]

    init(_ snapshot: SettingsSnapshot, showsSecrets: Bool) {
        settings = snapshot.settings.mapValues { Dictionary($0.map { ($0.key, $0) }) { first, _ in first } }
        missing = snapshot.missing.mapValues { ToolError(describing: $0) }
        self.showsSecrets = showsSecrets
    }

    func render(_ nodes: [TemplateNode]) throws(TemplateError) -> [UInt8] {
        var text: [UInt8] = []
        try render(nodes, to: &text)
        return text
    }

    private func render(_ nodes: [TemplateNode], to text: inout [UInt8]) throws(TemplateError) {
        for node in nodes {
            switch node {
            case .text(let bytes): text += bytes
            case .value(let reference, let filters): text += try self.text(of: reference, filters).utf8
            case .condition(let reference, let then, let otherwise):
                try render(try value(of: reference).found?.isTrue ?? false ? then : otherwise, to: &text)
            case .loop(let loop): try render(loop, to: &text)
            }
        }
    }

    private func render(_ loop: TemplateLoop, to text: inout [UInt8]) throws(TemplateError) {
        let offset = loop.elements.offset
        let elements: [(key: JSONValue, value: JSONValue)]
        switch try value(of: loop.elements) {
        case .value(.array(let array)): elements = array.enumerated().map { (.integer(Int64($0)), $1) }
        case .value(.object(let object)): elements = object.map { (.string($0.name), $0.value) }
        case .value(let value):
            throw TemplateError(
                at: offset,
                "#each takes an array, an object, app.* for all keys of the suite app, or app.player.* for its keys that begin "
                    + "with player.; the value is \(value.kindPhrase)")
        case .absent(let reason, let code): throw TemplateError(at: offset, reason, code: code)
        }
        for (index, element) in elements.enumerated() {
            var inner = self
            let values = [element.value, element.key, .integer(Int64(index))]
            for (name, value) in zip(loop.variables, values) { inner.variables[name] = value }
            try inner.render(loop.body, to: &text)
        }
        if elements.isEmpty { try render(loop.otherwise, to: &text) }
    }

    private func text(of reference: TemplateReference, _ filters: [TemplateFilter]) throws(TemplateError) -> String {
        func error(_ value: JSONValue, _ advice: String) -> TemplateError {
            TemplateError(at: reference.offset, "the value is \(value.kindPhrase); \(advice)")
        }
        let lookup = try value(of: reference)
        var value = lookup.found
        for filter in filters {
            guard let present = value else {
                if case .fallback(let fallback) = filter { value = fallback }
                continue
            }
            value = filter.applied(to: present)
            if value == nil { throw error(present, "use | json before this filter") }
        }
        guard let value else {
            guard case .absent(let reason, let code) = lookup else { return "" }
            throw TemplateError(at: reference.offset, reason, code: code)
        }
        guard let text = value.scalar else { throw error(value, "use | json") }
        return text
    }

    // MARK: Values

    /// The result of a search for the value of a reference.
    private enum Lookup {
        case value(JSONValue)
        /// The value is missing. This is an error, except in `{{#if}}` and with the filter `default`.
        case absent(reason: String, ExitCode)

        var found: JSONValue? { if case .value(let value) = self { value } else { nil } }
    }

    private func value(of reference: TemplateReference) throws(TemplateError) -> Lookup {
        let root: Lookup =
            switch reference.root {
            case .literal(let text): .value(.string(text))
            // The parser has refused variables that no enclosing block defines, so the variable has a value.
            case .variable(let name): variables[name].map { .value($0) } ?? .absent(reason: "", .failed)
            case .setting(let suite, let key): try setting(key, in: suite, at: reference.offset)
            case .settings(let suite, let prefix): try object(of: suite, prefix, at: reference.offset)
            }
        guard let value = root.found, !reference.steps.isEmpty else { return root }
        do throws(OperationError) {
            return .value(try value.found(at: JSONPointer(reference.steps)))
        } catch {
            return .absent(reason: error.detail, .notSet)
        }
    }

    private func setting(_ key: KeyName, in suite: SuiteName, at offset: Int) throws(TemplateError) -> Lookup {
        guard let members = settings[suite] else { return absence(of: suite, readAs: key.text) }
        if let setting = members[key] { return .value(try visibleValue(of: setting, at: offset)) }
        let known = members.keys.map(\.text).ordered { $0.precedesInBytes($1) }
        let suggestion = NameSuggestion.phrase(for: key.text, amongOrdered: known)
        let remedy = suggestion.isEmpty ? "; set it, or use | default(\"…\")" : suggestion
        return .absent(
            reason:
                "the suite \(suite) has no setting '\(Terminal.escaped(key.text))' that this caller may read\(remedy)",
            .notSet)
    }

    /// The settings whose keys begin with a prefix, as an object.
    private func object(of suite: SuiteName, _ prefix: String, at offset: Int) throws(TemplateError) -> Lookup {
        guard let members = settings[suite] else { return absence(of: suite, readAs: prefix) }
        var object = JSONObject()
        for key in members.keys.filter({ $0.text.hasBytePrefix(prefix) }).sorted(by: { $0 < $1 }) {
            guard let setting = members[key] else { continue }
            let name = String(decoding: key.text.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            object.append(JSONObject.Member(name: name, value: try visibleValue(of: setting, at: offset)))
        }
        return .value(.object(object))
    }

    /// The result for a reference to a suite that does not exist. `text` is the key or the prefix of keys in the
    /// reference. If the text has a dot, the author of the template may have meant a suite with a dot in its name.
    private func absence(of suite: SuiteName, readAs text: String) -> Lookup {
        let error = missing[suite] ?? ToolError(.unknown, "the suite \(suite) does not exist")
        guard let dot = text.firstIndex(of: "."), !error.message.contains("did you mean") else {
            return .absent(reason: error.message, error.code)
        }
        let remedy = "; a suite with a dot in its name needs quotation marks: \"\(suite).\(text[..<dot])\""
        return .absent(reason: error.message + Terminal.escaped(remedy), error.code)
    }

    /// Returns the value of a setting. Throws if the value is a secret that the result must not contain.
    private func visibleValue(of setting: EffectiveSetting, at offset: Int) throws(TemplateError) -> JSONValue {
        guard let value = setting.value else {
            let error = ToolError(concealed: setting.key, in: setting.suite)
            throw TemplateError(at: offset, error.message, code: error.code)
        }
        guard showsSecrets || !setting.isSecret else {
            throw TemplateError(at: offset, "\(setting.title) is a secret; --secrets also renders secrets")
        }
        return value
    }
}

extension JSONValue {
    /// True unless the value is `false`, `null`, zero, or an empty text, array or object.
    fileprivate var isTrue: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .integer(let value): value != 0
        case .double(let value): value != 0
        case .string(let value): !value.isEmpty
        case .array(let value): !value.isEmpty
        case .object(let value): !value.isEmpty
        }
    }
}
