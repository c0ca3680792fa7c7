/// A request that a client sends. The body, if any, is JSON.
package struct Request: Equatable, Sendable {
    package var method: Method
    package var target: RequestTarget
    /// All fields except Host, Content-Type and Content-Length, which ``bytes(host:)`` adds.
    package var fields = FieldBlock()
    package var body: [UInt8]?

    package init(_ method: Method, _ target: RequestTarget, body: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.body = body
    }

    /// True if the request may change data on the server. Reads from the daemon use GET. Requests to etcd use POST, and
    /// all count as writes.
    package var isWrite: Bool { method != .get }

    /// True if the client may repeat the request when its outcome is unknown: the request is a read, or a write whose
    /// `Idempotency-Key` lets the server recognize the repetition.
    package var isRepeatable: Bool { !isWrite || fields.value(of: "idempotency-key") != nil }

    /// Returns the serialized request, including the body. `host` becomes the value of the field `Host`.
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
        // Send a length with DELETE, too: without a length, some proxies wait for a body.
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

/// The target of a request: a path and a query, both percent-encoded.
package struct RequestTarget: Equatable, Sendable {
    package private(set) var text = ""
    private var hasQuery = false

    /// Creates a path from segments, which are not yet percent-encoded.
    package init(_ segments: String...) {
        for segment in segments {
            text += "/"
            append(encoding: segment)
        }
    }

    /// Returns the target with the query parameter `name=value` added, or unchanged if the value is nil.
    package func with(_ name: StaticString, _ value: String?) -> RequestTarget {
        guard let value else { return self }
        var target = with(flag: name, true)
        target.text += "="
        target.append(encoding: value)
        return target
    }

    /// Returns the target with a query parameter without a value added, or unchanged if `isOn` is false.
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
