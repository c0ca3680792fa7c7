/// What the target is: a path, a whole URI, or `*`.
extension RequestParser {
    /// Notes what the target consists of, once all of it has been read.
    mutating func settleTarget(_ bytes: Span<UInt8>) throws(RequestError) {
        let target = mark..<position
        request.targetRange = ByteRange(target)
        switch bytes[target.lowerBound] {
        case UInt8(ascii: "/"): settlePath(from: target.lowerBound)
        case UInt8(ascii: "*"):
            guard target.count == 1 else { throw .badRequest("the target must begin with '/'; found '*'") }
            request.isServerWide = true
            request.pathRange = ByteRange(target)
        default: try settleAbsoluteForm(bytes, target)
        }
    }

    /// Divides the target into path and query. The path begins at `start`.
    private mutating func settlePath(from start: Int) {
        guard queryMark != 0 else {
            request.pathRange = ByteRange(start..<position)
            return
        }
        request.pathRange = ByteRange(start..<queryMark)
        request.queryRange = ByteRange(queryMark + 1..<position)
    }

    /// `http://host/path`, which RFC 9112 (3.2.2) demands of every server. The host counts rather than that of the
    /// field `Host`.
    private mutating func settleAbsoluteForm(_ bytes: Span<UInt8>, _ target: Range<Int>) throws(RequestError) {
        let start = target.lowerBound
        let afterScheme: Int
        if target.count >= 7, bytes.holds(ignoringCase: "http://", in: start..<start + 7) {
            afterScheme = start + 7
        } else if target.count >= 8, bytes.holds(ignoringCase: "https://", in: start..<start + 8) {
            afterScheme = start + 8
        } else {
            throw .badRequest("the target must begin with '/', or be a URI with http:// or https://")
        }
        let end = queryMark == 0 ? position : queryMark
        var slash = afterScheme
        while slash < end, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        guard let authority = Authority(bytes, afterScheme..<slash) else {
            throw .badRequest("the target must name a host, or a host and a port, and no user after http://")
        }
        request.hostRange = ByteRange(authority.host)
        if let port = authority.port { request.portRange = ByteRange(port) }
        settlePath(from: slash)
        // `http://host` is short for `http://host/`. The path has to be found in the bytes: the slash before the host
        // is one.
        if slash == end { request.pathRange = ByteRange(afterScheme - 1..<afterScheme) }
    }
}
