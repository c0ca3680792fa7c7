import SettingsHTTP
import SettingsModel

/// A reader of binary property lists: `bplist00`, objects, the table of their offsets, and a trailer of 32 bytes.
struct BinaryPropertyListReader {
    static let magic = Array("bplist00".utf8)
    /// The maximum number of values that are read. The objects of a small file can refer to each other so often that
    /// the values would not fit into memory.
    private static let maximumValues = 20_000_000

    private let bytes: [UInt8]
    /// The offset of each object.
    private var offsets: [Int] = []
    /// The size in bytes of the number of an object, with which an array or a dictionary refers to the object.
    private var referenceSize = 1
    /// The number of values that may still be read.
    private var remainingValues = Self.maximumValues

    static func read(_ bytes: [UInt8]) throws(ToolError) -> JSONValue {
        var reader = BinaryPropertyListReader(bytes: bytes)
        return try reader.root()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func root() throws(ToolError) -> JSONValue {
        let trailer = bytes.count - 32
        guard trailer >= 8 else { throw Self.truncated }
        let offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        let (count, rootIndex) = (try number(at: trailer + 8, size: 8), try number(at: trailer + 16, size: 8))
        let tableOffset = try number(at: trailer + 24, size: 8)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), (8...trailer).contains(tableOffset),
            count <= (trailer - tableOffset) / offsetSize
        else { throw Self.damaged(at: trailer) }
        for index in 0..<count { offsets.append(try number(at: tableOffset + index * offsetSize, size: offsetSize)) }
        return try value(rootIndex, depth: 1)
    }

    private mutating func value(_ index: Int, depth: Int) throws(ToolError) -> JSONValue {
        guard offsets.indices.contains(index) else {
            throw ToolError(
                .failed, "the property list is damaged: it refers to object \(index), which it does not contain")
        }
        // The limit also ends the reading of an object that contains itself.
        guard depth <= PropertyList.maximumDepth else { throw ToolError(.failed, "the value is nested too deeply") }
        remainingValues -= 1
        guard remainingValues >= 0 else {
            throw ToolError(.failed, "the file has more than \(Self.maximumValues) values")
        }
        let offset = offsets[index]
        // The high four bits of the marker are the type of the object. The low four bits are its value, its length, or
        // the binary logarithm of its size. Type 5 is ASCII, 6 is UTF-16 and 7 is UTF-8; A is an array, D a dictionary.
        let marker = try byte(at: offset)
        let low = Int(marker & 0x0F)
        switch marker >> 4 {
        case 0x0 where low == 8 || low == 9: return .bool(low == 9)
        case 0x1 where low <= 4: return .integer(try integer(at: offset + 1, size: 1 << low))
        case 0x2 where low == 2 || low == 3:
            let bits = UInt64(truncatingIfNeeded: try bits(at: offset + 1, size: 1 << low))
            let number =
                low == 2 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
            guard number.isFinite else { throw ToolError(.failed, "\(number) is not a finite number") }
            return .double(number)
        case 0x3 where low == 3:
            let seconds = Double(bitPattern: UInt64(truncatingIfNeeded: try bits(at: offset + 1, size: 8)))
            guard let text = PropertyListDate.text(of: seconds) else {
                throw ToolError(.failed, "cannot convert the date \(seconds) s after 2001-01-01 to a text")
            }
            return .string(text)
        case 0x4: return .string(Base64.text(of: Array(try content(at: offset, size: 1))))
        case 0x5, 0x7:
            let content = try content(at: offset, size: 1)
            guard let text = String(validating: content, as: UTF8.self) else { throw Self.damaged(at: offset) }
            return .string(text)
        case 0x6:
            let content = try content(at: offset, size: 2)
            let units = stride(from: content.startIndex, to: content.endIndex, by: 2)
                .map { UInt16(content[$0]) << 8 | UInt16(content[$0 + 1]) }
            guard let text = String(validating: units, as: UTF16.self) else {
                throw ToolError(.failed, "the UTF-16 text at byte \(offset) of the file is not valid")
            }
            return .string(text)
        case 0xA:
            var elements: [JSONValue] = []
            for reference in try references(at: offset, perElement: 1) {
                elements.append(try value(reference, depth: depth + 1))
            }
            return .array(elements)
        case 0xD:
            let references = try references(at: offset, perElement: 2)
            var object = JSONObject()
            for (key, element) in zip(references.prefix(references.count / 2), references.suffix(references.count / 2))
            {
                guard case .string(let name) = try value(key, depth: depth + 1), try isText(key) else {
                    throw ToolError(.failed, "a key is not a string")
                }
                let member: JSONValue
                do throws(ToolError) {
                    member = try value(element, depth: depth + 1)
                } catch {
                    // The message names the key of the setting, but no keys inside its value.
                    throw depth > 1 ? error : ToolError(error.code, "\(Terminal.escaped(name)): \(error.message)")
                }
                guard object.append(JSONObject.Member(name: name, value: member)) else {
                    throw ToolError(.failed, "the key '\(Terminal.escaped(name))' occurs twice")
                }
            }
            return .object(object)
        case 0x8:
            throw ToolError(.failed, "the file is a keyed archive; settings cannot have references between values")
        default: throw Self.damaged(at: offset)
        }
    }

    /// True if an object is a text. The value of a date or of data is also a `.string`, but is not a text in the file.
    private func isText(_ index: Int) throws(ToolError) -> Bool {
        (0x5...0x7).contains(try byte(at: offsets[index]) >> 4)
    }

    /// Returns the offset of the contents of an object, and the number of its bytes, UTF-16 units or elements. A number
    /// from 15 on follows the marker as an integer.
    private func extent(at offset: Int) throws(ToolError) -> (start: Int, count: Int) {
        let low = Int(try byte(at: offset) & 0x0F)
        guard low == 0x0F else { return (offset + 1, low) }
        let marker = try byte(at: offset + 1)
        guard marker >> 4 == 1, marker & 0x0F <= 3 else { throw Self.damaged(at: offset) }
        let size = 1 << Int(marker & 0x0F)
        return (offset + 2 + size, try number(at: offset + 2, size: size))
    }

    /// Returns the bytes of an object that has units or elements of this size.
    private func content(at offset: Int, size: Int) throws(ToolError) -> ArraySlice<UInt8> {
        let (start, count) = try extent(at: offset)
        guard start <= bytes.count, count <= (bytes.count - start) / size else { throw Self.truncated }
        return bytes[start..<(start + count * size)]
    }

    /// Returns the indexes of the objects that an array or a dictionary contains.
    private func references(at offset: Int, perElement: Int) throws(ToolError) -> [Int] {
        let content = try content(at: offset, size: perElement * referenceSize)
        var references: [Int] = []
        for start in stride(from: content.startIndex, to: content.endIndex, by: referenceSize) {
            references.append(try number(at: start, size: referenceSize))
        }
        return references
    }

    private func byte(at offset: Int) throws(ToolError) -> UInt8 {
        guard bytes.indices.contains(offset) else { throw Self.truncated }
        return bytes[offset]
    }

    private func bits(at offset: Int, size: Int) throws(ToolError) -> UInt128 {
        guard offset >= 0, offset <= bytes.count - size else { throw Self.truncated }
        return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// Reads an integer. Integers of up to four bytes are unsigned, longer integers are signed.
    private func integer(at offset: Int, size: Int) throws(ToolError) -> Int64 {
        let bits = try bits(at: offset, size: size)
        if size == 8 { return Int64(bitPattern: UInt64(bits)) }
        let signed = Int128(bitPattern: bits)
        guard let number = Int64(exactly: signed) else {
            throw ToolError(.failed, "\(signed) is not a signed 64-bit integer")
        }
        return number
    }

    /// Reads an offset, a reference or a count. Throws if the number exceeds `Int.max / 16`, because the reader
    /// multiplies numbers by sizes of up to 16 bytes.
    private func number(at offset: Int, size: Int) throws(ToolError) -> Int {
        guard let number = Int(exactly: try bits(at: offset, size: size)), number <= Int.max / 16 else {
            throw Self.damaged(at: offset)
        }
        return number
    }

    private static let truncated = ToolError(.failed, "the property list is cut short")

    private static func damaged(at offset: Int) -> ToolError {
        ToolError(.failed, "the property list is damaged at byte \(offset)")
    }
}

/// A writer of binary property lists.
struct BinaryPropertyListWriter {
    /// An object of the file. Its number is its index in `objects`.
    private enum Object {
        case content([UInt8])
        /// An array or a dictionary, with the numbers of the objects that it contains.
        case container(marker: UInt8, references: [Int])
    }

    private var objects: [Object] = []
    /// The number of the object of each text. The file contains each text only once.
    private var texts: [UTF8Text: Int] = [:]

    /// Returns the whole file.
    mutating func document(_ root: JSONValue, _ partSchemas: PropertyList.PartSchemas) -> [UInt8] {
        _ = add(root, partSchemas, nil)
        let referenceSize = Self.size(of: objects.count)
        var (bytes, offsets) = (BinaryPropertyListReader.magic, [Int]())
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .content(let content): bytes += content
            case .container(let marker, let references):
                let count = marker == 0xD0 ? references.count / 2 : references.count
                bytes += Self.head(marker, count)
                for reference in references { bytes += Self.bigEndian(reference, referenceSize) }
            }
        }
        let (tableOffset, offsetSize) = (bytes.count, Self.size(of: bytes.count))
        for offset in offsets { bytes += Self.bigEndian(offset, offsetSize) }
        // The trailer: six unused bytes, the sizes of an offset and of a reference, the count of the objects, the
        // index of the root object, and the offset of the table of offsets.
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        for number in [objects.count, 0, tableOffset] { bytes += Self.bigEndian(number, 8) }
        return bytes
    }

    /// Adds a value, and returns the number of its object. The schemas of the value and of its parts decide which
    /// texts are dates or data.
    private mutating func add(_ value: JSONValue, _ partSchemas: PropertyList.PartSchemas, _ schema: JSONValue?) -> Int
    {
        let number = objects.count
        switch value {
        // Does not occur, because `PropertyList.bytes` refuses null.
        case .null: objects.append(.content([0x00]))
        case .bool(let truth): objects.append(.content([truth ? 0x09 : 0x08]))
        case .integer(let integer): objects.append(.content(Self.integer(integer)))
        case .double(let double): objects.append(.content([0x23] + Self.bigEndian(double.bitPattern)))
        case .string(let text):
            switch PropertyList.DateOrData(text, schema) {
            case .date(let seconds): objects.append(.content([0x33] + Self.bigEndian(seconds.bitPattern)))
            case .data(let bytes): objects.append(.content(Self.head(0x40, bytes.count) + bytes))
            case nil: return add(text)
            }
        case .array(let elements):
            objects.append(.content([]))
            let references = elements.map {
                add($0, PropertyList.PartSchemas(of: partSchemas.elements), partSchemas.elements)
            }
            objects[number] = .container(marker: 0xA0, references: references)
        case .object(let object):
            objects.append(.content([]))
            var references = object.map { add($0.name) }
            for member in object {
                let schema = partSchemas.member(member.name)
                references.append(add(member.value, PropertyList.PartSchemas(of: schema), schema))
            }
            objects[number] = .container(marker: 0xD0, references: references)
        }
        return number
    }

    private mutating func add(_ text: String) -> Int {
        if let number = texts[UTF8Text(text)] { return number }
        texts[UTF8Text(text)] = objects.count
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            objects.append(.content(Self.head(0x50, text.utf8.count) + text.utf8))
        } else {
            let units = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            objects.append(.content(Self.head(0x60, units.count / 2) + units))
        }
        return objects.count - 1
    }

    /// Returns the marker of an object with the number of its bytes, units or elements.
    private static func head(_ marker: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [marker | UInt8(count)] : [marker | 0x0F] + integer(Int64(count))
    }

    private static func integer(_ number: Int64) -> [UInt8] {
        guard number >= 0, number <= UInt32.max else { return [0x13] + bigEndian(UInt64(bitPattern: number)) }
        let size = size(of: Int(number))
        return [0x10 | UInt8(size.trailingZeroBitCount)] + bigEndian(Int(number), size)
    }

    private static func bigEndian(_ bits: UInt64) -> [UInt8] { bigEndian(Int(truncatingIfNeeded: bits), 8) }

    private static func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// The smallest of the sizes 1, 2, 4 and 8 that can represent a number. All readers support these sizes.
    private static func size(of number: Int) -> Int {
        number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : number <= 0xFFFF_FFFF ? 4 : 8
    }
}
