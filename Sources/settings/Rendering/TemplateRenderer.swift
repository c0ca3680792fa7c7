import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Renders templates with settings. It has no effects and reads nothing else.
struct TemplateRenderer {
    let settings: SettingsSnapshot
    /// True if the result may contain secrets.
    let showsSecrets: Bool
    private var variables: [String: JSONValue] = [:]

    init(_ settings: SettingsSnapshot, showsSecrets: Bool) {
        (self.settings, self.showsSecrets) = (settings, showsSecrets)
    }

    func render(_ template: Template) throws(TemplateError) -> [UInt8] {
        var text: [UInt8] = []
        try render(template.nodes, to: &text)
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
        let value = try requiredValue(of: loop.elements)
        let elements: [(key: JSONValue, value: JSONValue)]
        if let array = value.array {
            elements = array.enumerated().map { (.integer(Int64($0)), $1) }
        } else if let object = value.object {
            elements = object.map { (.string($0.name), $0.value) }
        } else {
            throw TemplateError(
                at: loop.elements.offset,
                "#each takes an array, an object or keys such as app.*; the value is \(value.kindPhrase)")
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
        let lookup = try value(of: reference)
        var value = lookup.found
        for filter in filters {
            guard let result = filter.applied(to: value) else {
                throw unprintable(value, reference, advice: "use | json before this filter")
            }
            value = result
        }
        guard let value else {
            throw lookup.absence(at: reference.offset, remedy: "; set it, or use | default(\"…\")")
        }
        guard let text = value.scalar else { throw unprintable(value, reference, advice: "use | json") }
        return text
    }

    private func unprintable(
        _ value: JSONValue?, _ reference: TemplateReference, advice: String
    ) -> TemplateError {
        TemplateError(at: reference.offset, "the value is \(value?.kindPhrase ?? "missing"); \(advice)")
    }

    private func requiredValue(of reference: TemplateReference) throws(TemplateError) -> JSONValue {
        let lookup = try value(of: reference)
        guard let value = lookup.found else { throw lookup.absence(at: reference.offset) }
        return value
    }

    /// The result of a lookup: the value, or the reason why it is missing.
    private struct Lookup {
        var found: JSONValue?
        var reason = ""
        var code = ExitCode.notSet
        var missing: TemplateError.MissingSetting?

        /// - Parameter remedy: added to the reason if the setting is missing and its name is not like another name.
        func absence(at offset: Int, remedy: String = "") -> TemplateError {
            let needsRemedy = missing != nil && !reason.contains("did you mean")
            var error = TemplateError(at: offset, reason + (needsRemedy ? remedy : ""), code: code)
            error.missing = missing
            return error
        }
    }

    private func value(of reference: TemplateReference) throws(TemplateError) -> Lookup {
        var lookup: Lookup
        switch reference.root {
        case .literal(let text): lookup = Lookup(found: .string(text))
        case .variable(let name): lookup = Lookup(found: variables[name])
        case .setting(let suite, let key): lookup = try setting(key, in: suite, at: reference.offset)
        case .settings(let suite, let prefix): lookup = try settings(of: suite, prefix, at: reference.offset)
        }
        guard let value = lookup.found, !reference.steps.isEmpty else { return lookup }
        do throws(OperationError) {
            return Lookup(found: try value.found(at: JSONPointer(reference.steps)))
        } catch {
            return Lookup(found: nil, reason: error.detail)
        }
    }

    private func setting(_ key: KeyName, in suite: SuiteName, at offset: Int) throws(TemplateError) -> Lookup {
        guard let contents = settings.suites[suite] else { return unknown(suite, key) }
        try checkSecrecy(of: key, contents, at: offset)
        if let value = contents.values[key] { return Lookup(found: value) }
        let known = contents.values.keys.map(\.text) + contents.concealed.map(\.text)
        let suggestion = NameSuggestion.phrase(for: key.text, amongOrdered: known.ordered { $0.precedesInBytes($1) })
        return Lookup(
            reason: "the setting '\(Terminal.plain(key.text))' of the suite \(suite) has no value\(suggestion)",
            missing: .init(suite: suite, key: key))
    }

    private func settings(
        of suite: SuiteName, _ prefix: String, at offset: Int
    ) throws(TemplateError) -> Lookup {
        guard let contents = settings.suites[suite] else { return unknown(suite, nil) }
        var object = JSONObject()
        let keys = (Array(contents.values.keys) + contents.concealed).filter { $0.text.hasBytePrefix(prefix) }
        for key in keys.sorted(by: { $0 < $1 }) {
            try checkSecrecy(of: key, contents, at: offset)
            let name = String(decoding: key.text.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            if let value = contents.values[key] { object.append(JSONObject.Member(name: name, value: value)) }
        }
        return Lookup(found: .object(object))
    }

    private func unknown(_ suite: SuiteName, _ key: KeyName?) -> Lookup {
        Lookup(
            reason: "the suite \(suite) does not exist", code: .unknown, missing: .init(suite: suite, key: key))
    }

    private func checkSecrecy(
        of key: KeyName, _ contents: SettingsSnapshot.Suite, at offset: Int
    ) throws(TemplateError) {
        if contents.concealed.contains(key) {
            let error = ToolError(concealed: key, in: contents.name)
            throw TemplateError(at: offset, error.message, code: error.code)
        }
        guard showsSecrets || !contents.secrets.contains(key) else {
            throw TemplateError(
                at: offset, "\(contents.name) \(key) is a secret; --secrets also renders secrets")
        }
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
