import Foundation
import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// A class that conforms to `NSCoding`, but not to `NSSecureCoding`.
final class OldBookmark: NSObject, NSCoding, DefaultsSerializable {
    let page: Int

    init(page: Int) {
        self.page = page
    }

    init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "page") else { return nil }
        page = coder.decodeInteger(forKey: "page")
    }

    func encode(with coder: NSCoder) {
        coder.encode(page, forKey: "page")
    }
}

/// A class that conforms to `NSCoding` and to `Codable`.
final class CodableBookmark: NSObject, NSCoding, Codable, DefaultsSerializable {
    let page: Int

    init(page: Int) {
        self.page = page
    }

    init?(coder: NSCoder) {
        nil
    }

    func encode(with coder: NSCoder) {}
}

/// A class that conforms to `NSCoding`, `RawRepresentable` and `Codable`.
final class RawBookmark: NSObject, NSCoding, RawRepresentable, Codable, DefaultsSerializable {
    let rawValue: Int

    init(rawValue: Int) {
        self.rawValue = rawValue
    }

    init?(coder: NSCoder) {
        nil
    }

    func encode(with coder: NSCoder) {}
}

/// A class that conforms to `NSCoding` and has its own bridge.
final class OwnBookmark: NSObject, NSCoding, DefaultsSerializable {
    override init() {}

    init?(coder: NSCoder) {
        nil
    }

    func encode(with coder: NSCoder) {}

    struct Bridge: DefaultsBridge {
        func encode(_ value: OwnBookmark) throws(BridgeError) -> JSONValue { "own" }
        func decode(_ json: JSONValue) throws(BridgeError) -> OwnBookmark { OwnBookmark() }
        var schema: WireSchema { .string }
    }

    static var defaultsBridge: Bridge { Bridge() }
}

enum Shelf {
    /// A nested class, whose values cannot be archived.
    final class Inner: NSObject, NSCoding, DefaultsSerializable {
        override init() {}

        init?(coder: NSCoder) {}

        func encode(with coder: NSCoder) {}
    }
}

@Suite(.ownThread)
struct ArchiveTests {
    /// The bridge of a class with `NSSecureCoding` (`ValueTableTests.swift`).
    private let bridge = Bookmark.defaultsBridge

    @Test("NSCoding and NSSecureCoding values are stored as archives in Base64 that Foundation reads")
    func roundTrip() throws {
        let json = try bridge.encode(Bookmark("a", page: 3))
        #expect(try bridge.decode(json) == Bookmark("a", page: 3))
        let data = try Data.defaultsBridge.decode(json)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: Bookmark.self, from: data) == Bookmark("a", page: 3))
        let old = OldBookmark.defaultsBridge
        #expect(try old.decode(old.encode(OldBookmark(page: 4))).page == 4)
        #expect(try bridge.encode(Bookmark("a", page: 3)) == json, "each encoding of a value has the same bytes")
    }

    @Test("The type's own bridge has precedence over raw values, Codable and archives, in this order")
    func precedence() throws {
        #expect(try OwnBookmark.defaultsBridge.encode(OwnBookmark()) == "own")
        #expect(try RawBookmark.defaultsBridge.encode(RawBookmark(rawValue: 5)) == 5)
        #expect(try CodableBookmark.defaultsBridge.encode(CodableBookmark(page: 5)) == ["page": 5])
        #expect(try CodableBookmark.defaultsBridge.decode(["page": 6]).page == 6)
    }

    @Test("A value that is not an archive of the class is refused")
    func foreign() throws {
        let whole = try Data.defaultsBridge.decode(bridge.encode(Bookmark("a", page: 3)))
        let text = String(decoding: whole, as: UTF8.self)
        // The archive is XML, so the text of an element is the name of the class.
        let unknown = Data(text.replacing("Bookmark<", with: "Nobody<").utf8)
        let list = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .binary, options: 0)
        let null = try NSKeyedArchiver.archivedData(withRootObject: NSNull(), requiringSecureCoding: true)
        let other = try Data.defaultsBridge.decode(OldBookmark.defaultsBridge.encode(OldBookmark(page: 1)))
        for data in [Data(), Data([1, 2, 3]), Data("text".utf8), whole.dropLast(100), unknown, list, null, other] {
            let error = #expect(throws: BridgeError.self) { try bridge.decode(Data.defaultsBridge.encode(Data(data))) }
            #expect(error?.description.contains("archive of") == true)
        }
        #expect(throws: BridgeError.self) { try bridge.decode(3) }
        #expect(throws: BridgeError.self) { try bridge.decode("no Base64") }
    }

    @Test("An incomplete or damaged archive is refused")
    func damaged() throws {
        let whole = try Data.defaultsBridge.decode(bridge.encode(Bookmark("a", page: 3)))
        let incomplete = NSKeyedArchiver(requiringSecureCoding: false)
        incomplete.encode(OldBookmark(page: 1), forKey: "another root")
        incomplete.finishEncoding()
        #expect(throws: BridgeError.self) {
            try OldBookmark.defaultsBridge.decode(Data.defaultsBridge.encode(incomplete.encodedData))
        }
        #expect(throws: BridgeError.self) { try bridge.decode(Data.defaultsBridge.encode(whole.dropFirst())) }
    }

    @Test("A value of a nested class cannot be archived, and a write of the value is reported")
    func nested() throws {
        #expect(throws: BridgeError.self) { try Shelf.Inner.defaultsBridge.encode(Shelf.Inner()) }
        #expect(throws: BridgeError.self) {
            try Shelf.Inner.defaultsBridge.decode(Bookmark.defaultsBridge.encode(Bookmark("a", page: 1)))
        }
        let fixture = try BackendKind.memory.fixture()
        let defaults = fixture.adapter()
        defaults[key: DefaultsKey<Shelf.Inner?>("inner")] = Shelf.Inner()
        #expect(
            fixture.drainIssues().first?.description.hasSuffix(
                "cannot be archived: Inner is private, or is not declared at the top level of a module") == true)
    }
}
