public import Foundation
public import SettingsKeys

/// The bridge of classes that conform to `NSSecureCoding` or `NSCoding`. It stores a keyed archive as Base64 text.
///
/// The class must be final, not private, and declared at the top level of a module. A private or nested class has no
/// name that an archive can contain. The name of the class includes the name of the module, so a program that renames
/// the class or the module cannot read older values.
///
/// The bridge throws an error for a value that is not an archive of this class. But if an archive of this class
/// contains objects of classes that the class does not expect, `NSKeyedUnarchiver` may end the process. So a client
/// that may write a setting of this type can end the program. The archive of an object with an `NSDictionary` or an
/// `NSSet` differs in each run. If the default of a key contains such an object, the client therefore always reports
/// that the default differs from the default in the schema. Programs in other languages can hardly read an archive. Use
/// `Codable` for a new type.
public struct ArchiveBridge<Value: NSObject & NSCoding & Sendable>: DefaultsBridge {
    /// Creates a bridge for the class.
    public init() {}

    /// Encodes a value as a keyed archive. Throws if an archive cannot contain the name of the class, or if archiving
    /// fails.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        guard let name = Self.className else { throw Self.unnamed }
        let archiver = NSKeyedArchiver(requiringSecureCoding: Self.isSecure)
        // The binary format has no fixed order of members, so equal objects would have different archives.
        archiver.outputFormat = .xml
        archiver.encode(value, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finishEncoding()
        if let error = archiver.error { throw BridgeError("cannot be archived as \(name): \(error)") }
        return try Data.defaultsBridge.encode(archiver.encodedData)
    }

    /// Decodes a keyed archive. Throws if it is not an archive of the class.
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
            // The error of the unarchiver does not help the user, so it is not part of the message.
        }
        throw BridgeError("must be a complete archive of \(name)")
    }

    /// The schema of Base64 text.
    public var schema: WireSchema {
        Data.defaultsBridge.schema
    }

    private static var isSecure: Bool {
        (Value.self as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
    }

    /// The name of the class in archives. Nil if an archive cannot contain the name: Foundation would end the process
    /// when it archives such a class.
    private static var className: String? {
        let name = String(reflecting: Value.self)
        // The name of a class at the top level is `Module.Class`.
        return name.utf8.filter { $0 == UInt8(ascii: ".") }.count == 1 ? name : nil
    }

    private static var unnamed: BridgeError {
        BridgeError("cannot be archived: \(Value.self) is private, or is not declared at the top level of a module")
    }

    /// Throws if an archive does not contain the class, or contains a class that this program does not define. The
    /// unarchiver would end the process at a class that this program does not define.
    private static func check(_ data: Data, isOf name: String) throws(BridgeError) {
        let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        guard let list, list["$archiver"] as? String == "NSKeyedArchiver", let objects = list["$objects"] as? [Any]
        else {
            throw BridgeError("must be an archive of \(name)")
        }
        let names = objects.compactMap { ($0 as? [String: Any])?["$classname"] as? String }
        guard names.contains(name) else {
            throw BridgeError(
                "must be an archive of \(name) (got an archive of \(names.sorted().joined(separator: ", ")))")
        }
        if let other = names.first(where: { NSClassFromString($0) == nil }) {
            throw BridgeError(
                "must be an archive of \(name) (the archive contains the class \(other), which this program does not "
                    + "define)")
        }
    }
}

extension DefaultsSerializable where Self: NSObject & NSCoding {
    /// A bridge that stores a keyed archive.
    public static var defaultsBridge: ArchiveBridge<Self> {
        ArchiveBridge()
    }
}

// A class with a raw value is stored as its raw value, and every other `Codable` class with its `Codable`
// implementation. Programs in other languages can read both forms, but not an archive.

extension DefaultsSerializable where Self: NSObject & NSCoding & Codable {
    /// A bridge that encodes with the `Codable` implementation.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        CodableBridge<Self>()
    }
}

extension DefaultsSerializable where Self: NSObject & NSCoding & RawRepresentable, RawValue: DefaultsSerializable {
    /// A bridge that encodes the raw value.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}

extension DefaultsSerializable
where Self: NSObject & NSCoding & Codable & RawRepresentable, RawValue: DefaultsSerializable {
    /// A bridge that encodes the raw value.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}
