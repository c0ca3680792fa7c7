/// The position of a value inside another JSON value: the names and array indices that lead to it (RFC 6901).
public struct JSONPointer: Hashable, Sendable {
    /// The names and indices without escapes, outermost first. An array index is in decimal digits.
    public private(set) var tokens: [String]

    /// The pointer to the whole value.
    public static let root = JSONPointer([])

    /// Makes a pointer from names and indices.
    public init(_ tokens: [String]) {
        self.tokens = tokens
    }

    /// Parses the text form, such as `/player/volume`. Returns nil if the text is not a pointer.
    public init?(_ text: String) {
        tokens = []
        var rest = Array(text.utf8)[...]
        while let slash = rest.popFirst() {
            guard slash == UInt8(ascii: "/") else { return nil }
            let part = rest.prefix { $0 != UInt8(ascii: "/") }
            guard let token = Self.unescaped(part) else { return nil }
            tokens.append(token)
            rest = rest[part.endIndex...]
        }
    }

    /// Parses a reference inside a document, such as `#/$defs/name`: `#` and a percent-encoded pointer. Returns nil for
    /// any other text.
    package init?(reference: String) {
        guard reference.utf8.first == UInt8(ascii: "#"),
            let pointer = PercentEncoding.decoded(Array(reference.utf8).dropFirst()).flatMap({ JSONPointer($0) })
        else { return nil }
        self = pointer
    }

    /// Returns the pointer to a member of the object at this position.
    @inline(never)
    package func appending(_ token: String) -> JSONPointer {
        var longer = self
        longer.tokens.append(token)
        return longer
    }

    /// Returns the pointer to an element of the array at this position.
    package func appending(_ index: Int) -> JSONPointer {
        appending(String(index))
    }

    /// True if both pointers have the same tokens, compared byte by byte.
    public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.count == right.tokens.count && zip(left.tokens, right.tokens).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    /// Hashes the bytes of all tokens.
    public func hash(into hasher: inout Hasher) {
        for token in tokens { token.hashBytes(into: &hasher) }
    }

    /// Returns the array index that a token represents: decimal digits without a leading zero. Returns nil for any
    /// other token.
    package static func arrayIndex(_ token: String) -> Int? {
        guard let first = token.utf8.first, first != UInt8(ascii: "0") || token.utf8.count == 1,
            token.utf8.allSatisfy(ASCII.isDigit)
        else { return nil }
        return Int(token)
    }

    private static func unescaped(_ part: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The text form: a slash before each token, with `~` written as `~0` and `/` as `~1`. Empty for the whole value.
    public var description: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes += [UInt8(ascii: "~"), UInt8(ascii: "0")]
                case UInt8(ascii: "/"): bytes += [UInt8(ascii: "~"), UInt8(ascii: "1")]
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONPointer: ExpressibleByArrayLiteral {
    /// Makes a pointer from names and indices.
    public init(arrayLiteral elements: String...) {
        self.init(elements)
    }
}

extension JSONValue {
    /// The value at a position inside this value; nil if the value has no such position.
    public subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let object):
                guard let member = object[token] else { return nil }
                value = member
            case .array(let elements):
                guard let index = JSONPointer.arrayIndex(token), index < elements.count else { return nil }
                value = elements[index]
            default:
                return nil
            }
        }
        return value
    }
}
