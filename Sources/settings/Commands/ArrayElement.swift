import SettingsAPI
import SettingsHTTP
import SettingsModel

/// The element of an array that a path leads through, with the value that the command read.
///
/// Other callers may move the element to another position between the read and the write. Therefore the patch first
/// tests that the element at this position still has the value. The daemon refuses the patch if another element is
/// there.
struct ArrayElement {
    private let key: KeyName
    fileprivate let pointer: JSONPointer
    fileprivate let value: JSONValue

    fileprivate init(_ key: KeyName, _ pointer: JSONPointer, _ value: JSONValue) {
        (self.key, self.pointer, self.value) = (key, pointer, value)
    }

    /// Throws if an element has another value than in the first attempt, because the user meant the element of the
    /// first attempt.
    ///
    /// - Parameters:
    ///   - first: the elements that the first attempt read; nil if this is the first attempt. The method then stores
    ///     `present` in this variable.
    ///   - present: the elements that the present attempt read.
    static func requireUnchanged(_ first: inout [ArrayElement]?, _ present: [ArrayElement]) throws(ToolError) {
        for (old, new) in zip(first ?? [], present) where old.value != new.value {
            throw ToolError(
                .refused,
                "cannot change \(old): another caller changed it from \(old.shown) to \(new.shown) meanwhile; "
                    + "read the value, and run the command again with the present path of the element")
        }
        first = first ?? present
    }

    /// The value as text, cut after 100 characters.
    private var shown: String {
        let (text, limit) = (value.text(), 100)
        return Terminal.escaped(text.count > limit ? "\(text.prefix(limit))…" : text)
    }
}

extension ArrayElement: CustomStringConvertible {
    /// The path of the element.
    var description: String {
        SettingPath.word(for: key) + pointer.tokens.map { "[\($0)]" }.joined()
    }
}

extension SettingPath {
    /// Returns the outermost element of an array that the path leads through. Nil if the path leads through no array,
    /// or the element does not exist.
    private func element(in whole: JSONValue) -> ArrayElement? {
        for (position, token) in pointer.tokens.enumerated() where JSONPointer.arrayIndex(token) != nil {
            let parent = JSONPointer(Array(pointer.tokens.prefix(position)))
            guard whole[parent]?.array != nil else { continue }
            let elementPointer = JSONPointer(Array(pointer.tokens.prefix(position + 1)))
            return whole[elementPointer].map { ArrayElement(key, elementPointer, $0) }
        }
        return nil
    }

    /// Returns a patch with the step. If the path leads through an array, the patch tests the element of the array
    /// first.
    ///
    /// - Parameters:
    ///   - whole: the value of the key.
    ///   - elements: the array to which this method appends the tested element.
    func patch(_ step: JSONPatch.Step, of whole: JSONValue, testing elements: inout [ArrayElement]) -> JSONPatch {
        guard let element = element(in: whole) else { return JSONPatch([step]) }
        elements.append(element)
        return JSONPatch([.test(element.pointer, element.value), step])
    }
}

/// The operations that remove settings and parts of their values, made for the values that the initializer reads.
struct RemovalOperations {
    private(set) var operations: [Transaction.Operation] = []
    private(set) var elements: [ArrayElement] = []

    init(of paths: [SettingPath], in suite: SuiteName, _ client: DaemonClient) throws {
        var values: [KeyName: JSONValue] = [:]
        for path in SettingPath.inOrderOfRemoval(paths) {
            guard !path.isWhole else {
                operations.append(Transaction.Operation(suite: suite, key: path.key, .delete))
                continue
            }
            let whole = try values[path.key] ?? client.readableValue(of: path.key, in: suite)
            _ = try path.part(of: whole)
            let patch = path.patch(.remove(path.pointer), of: whole, testing: &elements)
            // A later path leads into the value without the removed part.
            do {
                values[path.key] = try patch.applied(to: whole)
            } catch {
                throw ToolError(.refused, "cannot remove \(path): \(error.detail)")
            }
            operations.append(Transaction.Operation(suite: suite, key: path.key, .change(.patch(patch))))
        }
    }
}

extension DaemonClient {
    /// Reads the value of a setting. Throws if the setting has no value, or is a secret that the caller may not read.
    fileprivate func readableValue(of key: KeyName, in suite: SuiteName) throws -> JSONValue {
        let setting = try blocking.send(.setting(key, in: suite))
        guard let value = setting.value else { throw ToolError(concealed: key, in: suite) }
        return value
    }
}
