/// A request that a client sends. Its body is JSON, if there is one.
package struct Request: Equatable, Sendable {
    package var method: Method
    package var target: RequestTarget
    /// All fields but those that `bytes` adds: Host, Content-Type and Content-Length.
    package var fields = FieldBlock()
    package var body: [UInt8]?

    package init(_ method: Method, _ target: RequestTarget, body: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.body = body
    }

    /// True if it may change something.
    package var isWrite: Bool { method != .get }

    /// True if it may be sent again when its outcome is unknown: it is a read, or a write that the server knows again.
    package var isRepeatable: Bool { !isWrite || fields.value(of: "idempotency-key") != nil }

    /// The bytes of the request with its body, for a server of that name.
    package func bytes(host: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + target.text.utf8.count + fields.bytes.count + (body?.count ?? 0))
        bytes.append(method.text)
        bytes.append(" ")
        bytes.append(contentsOf: target.text.utf8)
        bytes.append(" HTTP/1.1\r\nHost: ")
        bytes.append(contentsOf: host.utf8)
        bytes.append("\r\n")
        bytes.append(contentsOf: fields.bytes)
        if body != nil { bytes.append("Content-Type: application/json\r\n") }
        // DELETE has a length too: some proxies wait for a body otherwise.
        if isWrite {
            bytes.append("Content-Length: ")
            bytes.append(decimal: body?.count ?? 0)
            bytes.append("\r\n")
        }
        bytes.append("\r\n")
        if let body { bytes.append(contentsOf: body) }
        return bytes
    }
}

/// A path with a query that a client asks for, everything in it percent-encoded.
package struct RequestTarget: Equatable, Sendable {
    package private(set) var text = ""
    private var hasQuery = false

    /// A path of these segments.
    package init(_ segments: String...) {
        for segment in segments {
            text += "/"
            append(encoding: segment)
        }
    }

    /// Returns the target with one more parameter; unchanged if the value is nil.
    package func with(_ name: StaticString, _ value: String?) -> RequestTarget {
        guard let value else { return self }
        var target = with(flag: name, true)
        target.text += "="
        target.append(encoding: value)
        return target
    }

    /// Returns the target with a parameter that is on by being there; unchanged if it is off.
    package func with(flag name: StaticString, _ isOn: Bool) -> RequestTarget {
        guard isOn else { return self }
        var target = self
        target.text += target.hasQuery ? "&" : "?"
        target.text += "\(name)"
        target.hasQuery = true
        return target
    }

    private mutating func append(encoding part: String) {
        if part.utf8.allSatisfy({ ByteSet.unreserved.contains($0) }) { return text += part }
        for byte in part.utf8 {
            if ByteSet.unreserved.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
    }
}
