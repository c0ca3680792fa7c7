import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Converts the operands of `settings set` to operations on settings.
struct OperationReader {
    let client: DaemonClient
    let suite: SuiteName
    let arguments: Arguments

    /// A path, and the word for its value; with `--toggle`, the word is nil.
    struct Assignment {
        let path: SettingPath
        let word: String?
    }

    /// The operations for the assignments, made for the present values of the suite.
    struct PreparedChange {
        fileprivate(set) var operations: [Transaction.Operation] = []
        /// The keys that had no stored value when they were read. The write must fail if one of these keys has a stored
        /// value when the daemon decides the write.
        fileprivate(set) var unsetKeys: [KeyName] = []
        /// True if the operations depend on values that were read, and test that these values are unchanged.
        fileprivate(set) var dependsOnValues = false
        /// The elements of arrays that the operations test.
        fileprivate(set) var elements: [ArrayElement] = []
        var consistsOfPatches: Bool {
            operations.allSatisfy { if case .change(.patch) = $0.action { true } else { false } }
        }
        /// The values of keys after the operations, as far as the command knows them.
        fileprivate var values: [KeyName: JSONValue] = [:]

        /// Returns the action that stores the first value of a key. Adds the key to ``unsetKeys``.
        fileprivate mutating func setFirstValue(
            of key: KeyName, to value: JSONValue
        ) -> Transaction.Operation.Action {
            values[key] = value
            unsetKeys.append(key)
            return .set(value)
        }
    }

    /// The error if another caller changed the suite between two reads. `WritingCommands` then calls `change(_:)`
    /// again.
    struct StaleRead: Error {}

    /// The change that an assignment makes to the value at its path.
    private enum Edit {
        case set(JSONValue)
        case change(InPlaceOperation)
        /// Removes the elements of a list that are equal to one of these values.
        case remove([JSONValue])
    }

    /// Reads the words. Reads standard input for the value `-`.
    func assignments() throws(ToolError) -> [Assignment] {
        let words = Array(arguments.operands.dropFirst())
        guard let first = words.first else { throw .usage("the key is missing") }
        if arguments.has("toggle") {
            var assignments: [Assignment] = []
            for word in words { assignments.append(Assignment(path: try SettingPath(word), word: nil)) }
            return assignments
        }
        let (path, firstValue) = try SettingPath.split(first)
        guard firstValue != nil else {
            guard words.count == 2 else {
                throw .usage(
                    words.count < 2 ? "the value of \(first) is missing" : "write several settings as KEY=VALUE")
            }
            return [Assignment(path: path, word: try text(of: words[1]))]
        }
        var assignments: [Assignment] = []
        for word in words {
            let (path, value) = try SettingPath.split(word)
            guard let value else {
                throw .usage("'\(Terminal.escaped(word))' has no =; write several settings as KEY=VALUE")
            }
            assignments.append(Assignment(path: path, word: try text(of: value)))
        }
        return assignments
    }

    /// Reads the values that the operations depend on, and returns the operations.
    func change(_ assignments: [Assignment]) throws -> PreparedChange {
        var change = PreparedChange()
        for assignment in assignments {
            let action = try action(of: assignment, in: &change)
            change.operations.append(Transaction.Operation(suite: suite, key: assignment.path.key, action))
        }
        return change
    }

    private func action(of assignment: Assignment, in change: inout PreparedChange) throws
        -> Transaction.Operation.Action
    {
        let path = assignment.path
        if path.isWhole, !arguments.has("append"), !arguments.has("remove"), !arguments.has("merge") {
            // If an option gives the type of the value, the command need not read the schema.
            guard let word = assignment.word else { return .change(.toggle) }
            if let value = try typedValue(word) {
                change.values[path.key] = value
                return .set(value)
            }
        }
        let entry = try entry(of: path.key)
        let whole = change.values[path.key] ?? entry?.setting.value
        let schema = ValueReader.schema(at: path.pointer.tokens, in: entry?.schema)
        let edit = try edit(assignment, whole?[path.pointer], schema)
        if path.isWhole {
            switch edit {
            case .set(let value):
                change.values[path.key] = value
                return .set(value)
            case .change(let operation):
                if whole == nil, let value = operation.resultWithoutValue, try isUnset(path.key) {
                    return change.setFirstValue(of: path.key, to: value)
                }
                change.values[path.key] = whole.flatMap { try? operation.applied(to: $0) }
                return .change(operation)
            // The patch below removes the elements.
            case .remove: break
            }
        }
        guard entry?.setting.isConcealed != true else {
            throw ToolError(concealed: path.key, in: suite)
        }
        guard let whole else { return try actionWithoutValue(edit, path, in: &change) }
        let patch = try patch(edit, path, of: whole, testing: &change.elements)
        if case .test = patch.steps.first { change.dependsOnValues = true }
        do throws(OperationError) {
            change.values[path.key] = try patch.applied(to: whole)
        } catch {
            throw ToolError(.refused, "\(path): \(error.detail)")
        }
        return .change(.patch(patch))
    }

    /// Returns the edit that an assignment makes to the value at its path.
    ///
    /// - Parameters:
    ///   - present: the present value at the path; nil if there is no value.
    ///   - schema: the schema of the value; nil if the path has no schema.
    private func edit(_ assignment: Assignment, _ present: JSONValue?, _ schema: JSONValue?) throws -> Edit {
        let path = assignment.path
        guard let word = assignment.word else { return .change(.toggle) }
        if arguments.has("merge") {
            guard let patch = try? JSONValue(parsing: word), patch.object != nil else {
                throw ToolError.usage("--merge takes a JSON object, not '\(Terminal.escaped(word))'")
            }
            guard present == nil || present?.object != nil else {
                throw ToolError(
                    .refused,
                    "cannot merge into \(path): the value is \(present?.kindPhrase ?? ""); --merge needs an object")
            }
            return .change(.merge(patch))
        }
        let reader = ValueReader(path.description, schema)
        if arguments.has("append") || arguments.has("remove") {
            // Without a schema, the present value shows whether the value is a list or a text.
            let isText = reader.acceptsAnyType ? present?.string != nil : reader.acceptsTexts
            if isText, arguments.has("append") { return .change(.concat(word)) }
            // `schema(at:)` returns the schema in `items` for each index, so 0 stands for any element.
            let elements = ValueReader(path.description, ValueReader.schema(at: ["0"], in: schema))
            let typed = try typedValue(word)
            let element = try typed ?? elements.read(word)
            if arguments.has("append") { return .change(.append([element])) }
            // Without a schema, the word 1 may mean the number 1 or the text 1. Both are removed.
            return .remove(typed == nil && elements.acceptsAnyType ? [element, .string(word)] : [element])
        }
        if let value = try typedValue(word) { return .set(value) }
        let text = word.dropFirst()
        let amount: InPlaceOperation.Amount? =
            Int64(text).map { .integer($0) } ?? Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        if word.hasPrefix("+"), !reader.acceptsTexts, let amount {
            let presentIsNumber = present.map { ["integer", "number"].contains($0.typeName) } ?? false
            if !reader.acceptsAnyType || presentIsNumber { return .change(.add(amount)) }
            Terminal.warn("\(path) is stored as the text '\(word)', because no number is stored")
        }
        return .set(try reader.read(word))
    }

    // MARK: Parts of values

    /// Returns the patch that makes an edit at a path. If the edit depends on a value, the patch tests this value, so
    /// that the daemon refuses the patch if another caller has changed the value.
    private func patch(
        _ edit: Edit, _ path: SettingPath, of whole: JSONValue, testing elements: inout [ArrayElement]
    ) throws(ToolError) -> JSONPatch {
        let pointer = path.pointer
        switch edit {
        case .set(let value):
            let parent = whole[JSONPointer(Array(pointer.tokens.dropLast()))]
            if whole[pointer] == nil, parent?.object != nil {
                return path.patch(.add(pointer, value), of: whole, testing: &elements)
            }
            _ = try path.part(of: whole)
            return path.patch(.replace(pointer, value), of: whole, testing: &elements)
        case .change(let operation):
            let old = try path.part(of: whole)
            do throws(OperationError) {
                return JSONPatch([.test(pointer, old), .replace(pointer, try operation.applied(to: old))])
            } catch {
                throw ToolError(.refused, "\(path): \(error.detail)")
            }
        case .remove(let unwanted):
            let old = try path.part(of: whole)
            guard case .array(let elements) = old else {
                throw ToolError(
                    .refused, "cannot remove from \(path): the value is \(old.kindPhrase); --remove needs an array")
            }
            let rest = elements.filter { element in !unwanted.contains { $0.isMathematicallyEqual(to: element) } }
            let test = JSONPatch.Step.test(pointer, old)
            return JSONPatch(rest.count == elements.count ? [test] : [test, .replace(pointer, .array(rest))])
        }
    }

    /// Returns the action for an edit of a key without a value. Setting a member stores an object with this member.
    /// Throws for any other edit.
    private func actionWithoutValue(
        _ edit: Edit, _ path: SettingPath, in change: inout PreparedChange
    ) throws -> Transaction.Operation.Action {
        guard try isUnset(path.key) else { throw StaleRead() }
        guard case .set(let value) = edit, path.pointer.tokens.count == 1, let name = path.pointer.tokens.first,
            JSONPointer.arrayIndex(name) == nil
        else {
            let part = path.isWhole ? "" : ", so \(path) does not exist"
            throw ToolError(.notSet, "\(path.key) of suite \(suite) is not set and has no default\(part)")
        }
        return change.setFirstValue(of: path.key, to: .object([name: value]))
    }

    /// True if the setting has no value, also because the suite does not exist. Throws if the schema does not allow the
    /// key, or does not allow its stored value.
    private func isUnset(_ key: KeyName) throws(SettingsError) -> Bool {
        do throws(SettingsError) {
            _ = try client.blocking.send(.setting(key, in: suite))
            return false
        } catch {
            guard error.code == .notSet || error.code == .unknownSuite else { throw error }
            return true
        }
    }

    // MARK: Values

    /// Reads a setting with its schema. Returns nil if the list of keys does not have the key, if the suite does not
    /// exist, or if the caller may not read the list.
    private func entry(of key: KeyName) throws -> KeyListing.Entry? {
        do throws(SettingsError) {
            return try client.entry(of: key, in: suite)
        } catch {
            // The write of the first setting creates the suite.
            if error.code == .unknownSuite || error.code == .forbidden { return nil }
            throw error
        }
    }

    /// Returns the value of a word if `--text` or `--json` gives its type; otherwise nil.
    private func typedValue(_ word: String) throws(ToolError) -> JSONValue? {
        if arguments.has("text") { return .string(word) }
        return arguments.has("json") ? try Self.json(word) : nil
    }

    private static func json(_ word: String) throws(ToolError) -> JSONValue {
        do {
            return try JSONValue(parsing: word)
        } catch {
            throw .usage("'\(Terminal.escaped(String(word.prefix(60))))' is not JSON: \(error)")
        }
    }

    /// The word itself, or the text of standard input for `-`.
    private func text(of word: String) throws(ToolError) -> String {
        guard word == "-" else { return word }
        guard var text = String(validating: try InputFile.bytes(of: "-", arguments), as: UTF8.self) else {
            throw ToolError(.failed, "cannot read the value from standard input: the bytes are not valid UTF-8")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}

extension InPlaceOperation {
    /// The result of the operation on a setting without a value; nil if the operation needs a value.
    fileprivate var resultWithoutValue: JSONValue? {
        switch self {
        case .append(let elements): .array(elements)
        case .concat(let text): .string(text)
        case .merge(let patch): try? JSONValue.object(JSONObject()).merging(patch)
        case .add, .toggle, .patch: nil
        }
    }
}
