public import Foundation
public import SettingsKeys

/// Classes that archive themselves (`NSSecureCoding`, `NSCoding`): a keyed archive as Base64 text.
///
/// The class must be final and stand at the top level of a module, not private: only then has it a name that an archive
/// can give. That name includes the module's, so what is stored is lost to a program that calls either otherwise.
///
/// A value that is no archive, or none of this class, is refused with an error. But `NSKeyedUnarchiver` ends the process at
/// some archives that were made to look like one of this class and hold other objects inside: give write access to such a
/// setting only to clients that may end the program. An object that holds an `NSDictionary` or an `NSSet` has another
/// archive in each run, so that its defaults never are those of a schema. Other programs can do little with an archive;
/// `Codable` is the better choice for a new type.
public struct ArchiveBridge<Value: NSObject & NSCoding & Sendable>: DefaultsBridge {
    /// A bridge of its class.
    public init() {}

    /// Throws if the class is none that an archive can name, or if archiving fails.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        guard let name = Self.className else { throw Self.unnamed }
        let archiver = NSKeyedArchiver(requiringSecureCoding: Self.isSecure)
        // The binary form has its members in another order each time: then no value would be the same as itself.
        archiver.outputFormat = .xml
        archiver.encode(value, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finishEncoding()
        if let error = archiver.error { throw BridgeError("cannot be archived as \(name): \(error)") }
        return try Data.defaultsBridge.encode(archiver.encodedData)
    }

    /// Takes a keyed archive of the class.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        let data = try Data.defaultsBridge.decode(json)
        guard let name = Self.className else { throw Self.unnamed }
        try Self.check(data, isOf: name)
        do {
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
            unarchiver.requiresSecureCoding = Self.isSecure
            unarchiver.decodingFailurePolicy = .setErrorAndReturn
            let object =
                Self.isSecure
                ? unarchiver.decodeObject(of: [Value.self], forKey: NSKeyedArchiveRootObjectKey)
                : unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
            if let value = object as? Value, unarchiver.error == nil { return value }
        } catch {
            // Nothing that it says is for people.
        }
        throw BridgeError("must be a whole archive of \(name)")
    }

    /// Base64 text.
    public var schema: WireSchema {
        Data.defaultsBridge.schema
    }

    private static var isSecure: Bool {
        (Value.self as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
    }

    /// The name in archives; nil for a class that has none. Foundation ends the process when it is asked for that.
    private static var className: String? {
        let name = String(reflecting: Value.self)
        return name.utf8.filter { $0 == UInt8(ascii: ".") }.count == 1 ? name : nil
    }

    private static var unnamed: BridgeError {
        BridgeError("cannot be archived: \(Value.self) does not stand at the top level of a module, or is private")
    }

    /// Looks at the outside of an archive, as the unarchiver ends the process at objects that it does not expect.
    private static func check(_ data: Data, isOf name: String) throws(BridgeError) {
        let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        guard let list, list["$archiver"] as? String == "NSKeyedArchiver", let objects = list["$objects"] as? [Any]
        else {
            throw BridgeError("must be an archive of \(name)")
        }
        let names = objects.compactMap { ($0 as? [String: Any])?["$classname"] as? String }
        guard names.contains(name) else {
            throw BridgeError("must be an archive of \(name), but is one of \(names.sorted().joined(separator: ", "))")
        }
        if let other = names.first(where: { NSClassFromString($0) == nil }) {
            throw BridgeError("must be an archive of \(name), but holds a \(other), which this program has not")
        }
    }
}

extension DefaultsSerializable where Self: NSObject & NSCoding {
    /// The bridge by keyed archives.
    public static var defaultsBridge: ArchiveBridge<Self> {
        ArchiveBridge()
    }
}

// Where a class can do more than one: a raw value is the plainest form, and `Codable` is readable to others.

extension DefaultsSerializable where Self: NSObject & NSCoding & Codable {
    /// By what `Codable` says.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        CodableBridge<Self>()
    }
}

extension DefaultsSerializable where Self: NSObject & NSCoding & RawRepresentable, RawValue: DefaultsSerializable {
    /// By the raw value.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}

extension DefaultsSerializable
where Self: NSObject & NSCoding & Codable & RawRepresentable, RawValue: DefaultsSerializable {
    /// By the raw value.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}
