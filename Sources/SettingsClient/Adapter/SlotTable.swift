public import SettingsModel
internal import Synchronization

/// Finds the slot of a key.
///
/// Evaluating a computed key costs more than all else that a read does, so a key path is known by its identity: the
/// literal of a key path without captures is one object for the whole program.
@usableFromInline
final class SlotTable: Sendable {
    private let replica: Replica
    private let arguments: LaunchArguments
    private let report: @Sendable (String, DefaultsError) -> Void
    private let tables = Mutex(Tables())

    /// How many slots a key may have for each way to name it: a key path that captures is another object on each use.
    private static let mostOfOneKey = 8

    private struct Tables: Sendable {
        var byPath: [ObjectIdentifier: (path: RetainedPath, slot: any AnyObject & Sendable)] = [:]
        var pathCount: [UTF8Text: Int] = [:]
        var byName: [NameAndType: [any AnyObject & Sendable]] = [:]
    }

    /// What slots that are found by name have in common.
    private struct NameAndType: Hashable {
        let name: UTF8Text
        let type: ObjectIdentifier
    }

    /// A key path kept alive, so that no other object gets its identity. It is never evaluated, nor given out, so it does
    /// not matter to which isolation it belongs.
    private struct RetainedPath: @unchecked Sendable {
        let path: AnyKeyPath
    }

    init(
        replica: Replica, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.replica = replica
        self.arguments = arguments
        self.report = report
    }

    /// How many key paths are known.
    var pathCount: Int {
        tables.withLock { $0.byPath.count }
    }

    /// The slot of a key path; nil for a path that is not kept, whose key is then looked up by its name.
    @inlinable
    func slot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>) -> Slot<Value>? {
        guard let found = slot(of: ObjectIdentifier(path)) else { return nil }
        // The path was kept, so this is the same object, and its type says what the slot was made for.
        return unsafeDowncast(found, to: Slot<Value>.self)
    }

    /// The slot of a key path by its identity.
    @usableFromInline
    func slot(of path: ObjectIdentifier) -> (any AnyObject & Sendable)? {
        tables.withLock { $0.byPath[path]?.slot }
    }

    /// Makes a slot for a path that is not known, or finds the one by its key's name.
    func addSlot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>, key: DefaultsKey<Value>) -> Slot<Value> {
        let name = UTF8Text(key.name)
        let isFull = tables.withLock { $0.pathCount[name, default: 0] >= Self.mostOfOneKey }
        if isFull { return slot(for: key, withDefault: true) }
        let slot = make(key)
        let retained = RetainedPath(path: path)
        let id = ObjectIdentifier(path)
        return tables.withLock { tables in
            if let known = tables.byPath[id]?.slot { return unsafeDowncast(known, to: Slot<Value>.self) }
            tables.byPath[id] = (retained, slot)
            tables.pathCount[name, default: 0] += 1
            return slot
        }
    }

    /// The slot of a key by its name, type and rules.
    ///
    /// - Parameter needsDefault: whether its default has to be the key's, too.
    func slot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value> {
        let name = NameAndType(name: UTF8Text(key.name), type: ObjectIdentifier(Value.self))
        let known = tables.withLock { $0.byName[name] } ?? []
        for slot in known {
            // All slots under the name and the type are of that type.
            let slot = unsafeDowncast(slot, to: Slot<Value>.self)
            guard slot.key.hasSameRules(as: key) else { continue }
            if !needsDefault || slot.key.hasSameDefault(as: key) { return slot }
        }
        let slot = make(key)
        return tables.withLock { tables in
            if tables.byName[name, default: []].count < Self.mostOfOneKey {
                tables.byName[name, default: []].append(slot)
            }
            return slot
        }
    }

    private func make<Value>(_ key: DefaultsKey<Value>) -> Slot<Value> {
        let slot = Slot(key, replica: replica, arguments: arguments)
        if case .failure(let error) = slot.codec { report(key.name, error) }
        return slot
    }
}
