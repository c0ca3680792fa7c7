// Each function `read…` parses one part of the request line, and returns false if it needs more bytes.

/// Parses the request line: method, target and version.
extension MessageParser {
    /// Accepts one empty line before a request, because some old clients send a CR LF after a body and do not count it
    /// in `Content-Length`.
    mutating func readStart(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        guard position < end else { return false }
        guard bytes[position] == .carriageReturn else {
            elementStart = position
            phase = .method
            return true
        }
        guard !flags.contains(.skippedEmptyLine) else {
            throw .badRequest("a request must begin with a request line, such as GET / HTTP/1.1 (got two empty lines)")
        }
        flags.insert(.skippedEmptyLine)
        position += 1
        phase = .emptyLineEnd
        return true
    }

    mutating func readMethod(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        let bound = min(end, elementStart + Method.maximumLength + 1)
        while position < bound, ByteSet.method.contains(bytes[position]) { position += 1 }
        guard position - elementStart <= Method.maximumLength else {
            throw .badRequest(
                "the method must be at most \(Method.maximumLength) bytes long; check that the client speaks HTTP")
        }
        guard position < bound else { return false }
        guard bytes[position] == .space, position > elementStart else { throw badMethod(bytes[position]) }
        let name = elementStart..<position
        partialHead.method = Method(bytes, name)
        partialHead.methodRange = ByteRange(name)
        if partialHead.method == .other, bytes.holds("CONNECT", in: name) {
            throw .badRequest("the method must not be CONNECT, because this server is not a proxy")
        }
        position += 1
        elementStart = position
        phase = .target
        return true
    }

    private func badMethod(_ byte: UInt8) -> MessageError {
        if position == elementStart, byte == 0x16 {
            return .badRequest(
                "cannot read the request: the client speaks TLS, but this address accepts plain HTTP; use http:// "
                    + "for this address, or the address of a TLS proxy")
        }
        if (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) {
            return .badRequest("the method must be in capital letters, such as GET (got \(byte.displayName))")
        }
        let rule =
            position == elementStart ? "a request must begin with a method" : "a space must follow the method"
        return .badRequest("\(rule), as in GET / (got \(byte.displayName))")
    }

    mutating func readTarget(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        guard position < end else { return false }
        if position == elementStart { try checkTargetStart(bytes[position]) }
        let bound = min(end, elementStart + limits.maximumTargetLength + 1)
        while true {
            position = bytes.firstTargetDelimiter(from: position, to: bound)
            guard position - elementStart <= limits.maximumTargetLength else {
                throw .targetTooLong(limit: limits.maximumTargetLength)
            }
            guard position < bound else { return false }
            let byte = bytes[position]
            if byte == .space { break }
            guard byte == UInt8(ascii: "?") else { throw badTarget(byte) }
            if questionMarkPosition == 0 { questionMarkPosition = position }
            position += 1
        }
        try recordTarget(bytes)
        position += 1
        elementStart = position
        phase = .version
        return true
    }

    private func checkTargetStart(_ byte: UInt8) throws(MessageError) {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "*"), UInt8(ascii: "h"), UInt8(ascii: "H"): return
        case .space, .carriageReturn, .lineFeed:
            throw .badRequest("exactly one space and a target must follow the method, as in GET / HTTP/1.1")
        default: throw .badRequest("the target must begin with '/' (got \(byte.displayName))")
        }
    }

    private func badTarget(_ byte: UInt8) -> MessageError {
        switch byte {
        case UInt8(ascii: "#"): .badRequest("the target must not contain '#'; write %23, or remove the fragment")
        case .carriageReturn, .lineFeed:
            .badRequest("the request line must end with a version, as in GET / HTTP/1.1")
        default: .badRequest("the target must not contain \(byte.displayName); percent-encode this character")
        }
    }

    mutating func readVersion(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        // If the rest of the line has arrived, compare the eight bytes "HTTP/1.1" as one little-endian number.
        if position == elementStart, end - position >= 10, bytes.eightBytes(at: position) == 0x312E_312F_5054_5448,
            bytes[position + 8] == .carriageReturn, bytes[position + 9] == .lineFeed
        {
            return try endRequestLine(at: position + 10)
        }
        while position < end {
            let byte = bytes[position]
            switch position - elementStart {
            case 0: try expect("H", byte)
            case 1, 2: try expect("T", byte)
            case 3: try expect("P", byte)
            case 4: try expect("/", byte)
            case 5:
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw badVersion(byte) }
                guard byte == UInt8(ascii: "1") else {
                    throw .versionNotSupported("the version must be HTTP/1.1 (got HTTP/\(byte - UInt8(ascii: "0")))")
                }
            case 6: try expect(".", byte)
            case 7:
                // A higher minor version than 1.1 is treated as 1.1, as RFC 9110 (2.5) requires.
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw badVersion(byte) }
                partialHead.isHTTP11 = byte != UInt8(ascii: "0")
            case 8: try expect("\r", byte)
            default:
                guard byte == .lineFeed else {
                    throw .badRequest("each line must end with CR LF (got a carriage return without a line feed)")
                }
                return try endRequestLine(at: position + 1)
            }
            position += 1
        }
        return false
    }

    private func expect(_ expected: Unicode.Scalar, _ byte: UInt8) throws(MessageError) {
        if byte != UInt8(ascii: expected) { throw badVersion(byte) }
    }

    private func badVersion(_ byte: UInt8) -> MessageError {
        switch byte {
        case .lineFeed: .badRequest("each line must end with CR LF (got a line feed without a carriage return)")
        default:
            .badRequest("the request line must end with HTTP/1.1 and CR LF after the target (got \(byte.displayName))")
        }
    }

    private mutating func endRequestLine(at next: Int) throws(MessageError) -> Bool {
        if partialHead.hasAsteriskForm, partialHead.method != .options {
            throw .badRequest("the target '*' requires the method OPTIONS")
        }
        position = next
        phase = .lineStart
        return true
    }
}

/// Finds the parts of a request target: a path, an absolute URI, or `*`.
extension MessageParser {
    /// Records the ranges of the parts of the target. Called once the whole target has been read.
    mutating func recordTarget(_ bytes: Span<UInt8>) throws(MessageError) {
        let target = elementStart..<position
        partialHead.targetRange = ByteRange(target)
        switch bytes[target.lowerBound] {
        case UInt8(ascii: "/"): recordPath(from: target.lowerBound)
        case UInt8(ascii: "*"):
            guard target.count == 1 else { throw .badRequest("the target must begin with '/' (got '*')") }
            partialHead.hasAsteriskForm = true
            partialHead.pathRange = ByteRange(target)
        default: try recordAbsoluteForm(bytes, target)
        }
    }

    /// Records the ranges of the path and of the query. The path begins at `start`.
    private mutating func recordPath(from start: Int) {
        guard questionMarkPosition != 0 else {
            partialHead.pathRange = ByteRange(start..<position)
            return
        }
        partialHead.pathRange = ByteRange(start..<questionMarkPosition)
        partialHead.queryRange = ByteRange(questionMarkPosition + 1..<position)
    }

    /// Records the parts of a target such as `http://host/path`, which RFC 9112 (3.2.2) requires every server to
    /// accept. The host in the target takes precedence over the field `Host`.
    private mutating func recordAbsoluteForm(_ bytes: Span<UInt8>, _ target: Range<Int>) throws(MessageError) {
        let start = target.lowerBound
        let afterScheme: Int
        if target.count >= 7, bytes.holds(ignoringCase: "http://", in: start..<start + 7) {
            afterScheme = start + 7
        } else if target.count >= 8, bytes.holds(ignoringCase: "https://", in: start..<start + 8) {
            afterScheme = start + 8
        } else {
            throw .badRequest("the target must begin with '/', http:// or https://")
        }
        let end = questionMarkPosition == 0 ? position : questionMarkPosition
        var slash = afterScheme
        while slash < end, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        guard let authority = Authority(bytes, afterScheme..<slash) else {
            throw .badRequest("the target must name a host, or a host and a port, after http://, and no user")
        }
        partialHead.hostRange = ByteRange(authority.host)
        if let port = authority.port { partialHead.portRange = ByteRange(port) }
        recordPath(from: slash)
        // `http://host` means `http://host/`. The path must be a range of the request's bytes, but no slash follows
        // the host. So the path `/` is the range of the slash before the host.
        if slash == end { partialHead.pathRange = ByteRange(afterScheme - 1..<afterScheme) }
    }
}

/// The host and port in a target or in the field `Host`. The port is nil without a colon, and empty without digits.
struct Authority {
    var host: Range<Int>
    var port: Range<Int>?

    /// Returns nil unless the bytes in the range are `host` or `host:port`. Returns nil for an empty range, too, so the
    /// calling code must handle an empty field `Host`.
    ///
    /// Accepts the hosts of RFC 3986 except percent-encoded hosts, which no client uses. Refuses a user name.
    init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        var index = range.lowerBound
        let end = range.upperBound
        guard index < end else { return nil }
        if bytes[index] == UInt8(ascii: "[") {
            index += 1
            while index < end, ByteSet.addressInBrackets.contains(bytes[index]) { index += 1 }
            guard index < end, bytes[index] == UInt8(ascii: "]"), index > range.lowerBound + 1 else { return nil }
            index += 1
        } else {
            while index < end, ByteSet.hostName.contains(bytes[index]) { index += 1 }
            guard index > range.lowerBound else { return nil }
        }
        host = range.lowerBound..<index
        guard index < end else { return }
        guard bytes[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        let digits = index..<end
        var number = 0
        while index < end {
            let byte = bytes[index]
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
            guard number <= 65_535 else { return nil }
            index += 1
        }
        port = digits
    }
}
