/// The first line: method, target, version.
extension RequestParser {
    /// One empty line may stand before a request: some old clients end a body with one that is not counted.
    mutating func readStart(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        guard position < end else { return false }
        guard bytes[position] == .carriageReturn else {
            mark = position
            phase = .method
            return true
        }
        guard !options.contains(.skippedEmptyLine) else {
            throw .badRequest("more than one empty line stands before the request")
        }
        options.insert(.skippedEmptyLine)
        position += 1
        phase = .emptyLineEnd
        return true
    }

    mutating func readMethod(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        let bound = min(end, mark + Method.maximumLength + 1)
        while position < bound, ByteSet.method.contains(bytes[position]) { position += 1 }
        guard position - mark <= Method.maximumLength else {
            throw .badRequest("the method must be at most \(Method.maximumLength) bytes long; is this HTTP?")
        }
        guard position < bound else { return false }
        guard bytes[position] == .space, position > mark else { throw badMethod(bytes[position]) }
        let name = mark..<position
        request.method = Method(bytes, name)
        request.methodRange = ByteRange(name)
        if request.method == .other, bytes.holds("CONNECT", in: name) {
            throw .badRequest("this server is no proxy and opens no tunnels (CONNECT)")
        }
        position += 1
        mark = position
        phase = .target
        return true
    }

    private func badMethod(_ byte: UInt8) -> RequestError {
        if position == mark, byte == 0x16 {
            return .badRequest("this looks like TLS; use http:// here, and a proxy in front for https://")
        }
        if (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) {
            return .badRequest("methods are written in capitals, as GET; found \(byte.named)")
        }
        let place = position == mark ? "a request begins with a method and a space" : "a space ends the method"
        return .badRequest("\(place), as in GET /; found \(byte.named)")
    }

    mutating func readTarget(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        guard position < end else { return false }
        if position == mark { try checkTargetStart(bytes[position]) }
        let bound = min(end, mark + limits.maximumTargetLength + 1)
        while true {
            position = bytes.firstTargetMark(from: position, to: bound)
            guard position - mark <= limits.maximumTargetLength else {
                throw .targetTooLong(limit: limits.maximumTargetLength)
            }
            guard position < bound else { return false }
            let byte = bytes[position]
            if byte == .space { break }
            guard byte == UInt8(ascii: "?") else { throw badTarget(byte) }
            if queryMark == 0 { queryMark = position }
            position += 1
        }
        try settleTarget(bytes)
        position += 1
        mark = position
        phase = .version
        return true
    }

    private func checkTargetStart(_ byte: UInt8) throws(RequestError) {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "*"), UInt8(ascii: "h"), UInt8(ascii: "H"): return
        case .space, .carriageReturn, .lineFeed:
            throw .badRequest("exactly one space and a target, as in GET / HTTP/1.1, follow the method")
        default: throw .badRequest("the target must begin with '/'; found \(byte.named)")
        }
    }

    private func badTarget(_ byte: UInt8) -> RequestError {
        switch byte {
        case UInt8(ascii: "#"): .badRequest("the target has a '#'; write it as %23, and send no fragment")
        case .carriageReturn, .lineFeed:
            .badRequest("the request line ends without a version, as in GET / HTTP/1.1")
        default: .badRequest("the target has the \(byte.named), which has to be percent-encoded")
        }
    }

    mutating func readVersion(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        // "HTTP/1.1" in one go, where all of the line is there.
        if position == mark, end - position >= 10, bytes.eightBytes(at: position) == 0x312E_312F_5054_5448,
            bytes[position + 8] == .carriageReturn, bytes[position + 9] == .lineFeed
        {
            return try finishRequestLine(at: position + 10)
        }
        while position < end {
            let byte = bytes[position]
            switch position - mark {
            case 0: try expect("H", byte)
            case 1, 2: try expect("T", byte)
            case 3: try expect("P", byte)
            case 4: try expect("/", byte)
            case 5:
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw badVersion(byte) }
                guard byte == UInt8(ascii: "1") else {
                    throw .versionNotSupported("this server speaks HTTP/1.1, not HTTP/\(byte - UInt8(ascii: "0"))")
                }
            case 6: try expect(".", byte)
            case 7:
                // Whatever comes after 1.1 is answered as 1.1, as RFC 9110 (2.5) has it.
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw badVersion(byte) }
                request.isHTTP11 = byte != UInt8(ascii: "0")
            case 8: try expect("\r", byte)
            default:
                guard byte == .lineFeed else {
                    throw .badRequest("a carriage return without a line feed; lines end with CR LF")
                }
                return try finishRequestLine(at: position + 1)
            }
            position += 1
        }
        return false
    }

    private func expect(_ wanted: Unicode.Scalar, _ byte: UInt8) throws(RequestError) {
        if byte != UInt8(ascii: wanted) { throw badVersion(byte) }
    }

    private func badVersion(_ byte: UInt8) -> RequestError {
        switch byte {
        case .lineFeed: .badRequest("a line feed without a carriage return; lines end with CR LF")
        default: .badRequest("the request line must end with HTTP/1.1 and CR LF after the target; found \(byte.named)")
        }
    }

    private mutating func finishRequestLine(at next: Int) throws(RequestError) -> Bool {
        if request.isServerWide, request.method != .options {
            throw .badRequest("the target '*' is for OPTIONS only")
        }
        position = next
        phase = .lineStart
        return true
    }
}
