/// A request as it goes over the wire.
package struct WireRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case patch = "PATCH"
        case post = "POST"
        case delete = "DELETE"
    }

    package struct Field: Hashable, Sendable {
        package let name: String
        /// One line of text: whoever adds a field makes sure of that.
        package let value: String
    }

    package static let idempotencyKey = "Idempotency-Key"

    package var method: Method
    package var target: RequestTarget
    package var fields: [Field] = []
    /// JSON, if anything.
    package var body: [UInt8]?

    init(_ method: Method, _ target: RequestTarget, body: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.body = body
    }

    /// Whether it may change something.
    package var isWrite: Bool { method != .get }

    /// Whether it may be sent again by somebody who does not know what became of it: a read, or a write that the daemon
    /// knows again.
    package var isRepeatable: Bool { !isWrite || fields.contains { $0.name == Self.idempotencyKey } }

    /// The request with its body, for a server of that name.
    func bytes(host: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.usualHead + target.text.utf8.count + (body?.count ?? 0))
        func add(_ text: String) { bytes.append(contentsOf: text.utf8) }
        add(method.rawValue)
        add(" ")
        add(target.text)
        add(" HTTP/1.1")
        func add(_ name: String, _ value: String) {
            add("\r\n")
            add(name)
            add(": ")
            add(value)
        }
        add("Host", host)
        for field in fields { add(field.name, field.value) }
        if body != nil { add("Content-Type", "application/json") }
        // DELETE has a length too, so that no proxy wonders.
        if isWrite { add("Content-Length", String(body?.count ?? 0)) }
        add("\r\n\r\n")
        if let body { bytes.append(contentsOf: body) }
        return bytes
    }

    /// Bytes that a head seldom exceeds, but for its path.
    private static let usualHead = 256
}

/// A path with a query, everything in it percent-encoded.
package struct RequestTarget: Hashable, Sendable {
    package private(set) var text = ""
    private var hasQuery = false

    /// A path of these segments.
    init(_ segments: String...) {
        for segment in segments {
            text += "/"
            append(encoding: segment)
        }
    }

    /// The same with one more parameter; without a value, a flag. Nothing is added for a value that is nil.
    func with(_ name: StaticString, _ value: String?) -> RequestTarget {
        guard let value else { return self }
        var target = with(flag: name, true)
        target.text += "="
        target.append(encoding: value)
        return target
    }

    /// The same with a parameter that is on by being there.
    func with(flag name: StaticString, _ isOn: Bool) -> RequestTarget {
        guard isOn else { return self }
        var target = self
        target.text += target.hasQuery ? "&" : "?"
        target.text += "\(name)"
        target.hasQuery = true
        return target
    }

    private mutating func append(encoding part: String) {
        // Most are.
        if part.utf8.allSatisfy(Self.isPlain) { return text += part }
        for byte in part.utf8 {
            if Self.isPlain(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
