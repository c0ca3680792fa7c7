internal import CPage
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The web page for viewing and editing settings: the files under `/ui/`, which are embedded in the executable. `/`
/// redirects a browser to the page.
///
/// The files contain no secrets, so a request for a file needs no credential. The scripts of the page request the
/// settings from the HTTP API with the token that the user enters.
enum WebPage {
    private struct File {
        let type: ContentType
        let tag: String
        let fields: FieldBlock
        let body: [UInt8]

        init(_ type: ContentType, body: [UInt8]) {
            self.type = type
            self.body = body
            tag = "\"\(SHA256(body.span).hex.prefix(16))\""
            var fields = FieldBlock()
            fields.append("ETag", text: tag)
            fields.append("Content-Security-Policy", WebPage.contentSecurityPolicy)
            fields.append("Referrer-Policy", "no-referrer")
            fields.append("Cross-Origin-Opener-Policy", "same-origin")
            fields.append("Cross-Origin-Resource-Policy", "same-origin")
            self.fields = fields
        }
    }

    private static let root = "/ui/"
    private static let allowed = ["GET", "HEAD", "OPTIONS"]

    /// Allows the page only to load its own files and to send requests to the daemon that serves the page.
    private static let contentSecurityPolicy: StaticString = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The files by path. The C target CPage embeds them in the program.
    private static let files: [String: File] = {
        var count = 0
        let table = page_files(&count)
        var files: [String: File] = [:]
        for entry in UnsafeBufferPointer(start: table, count: count) {
            let name = String(cString: entry.name)
            let source = UnsafeBufferPointer(start: entry.bytes, count: entry.count)
            let file = File(type(of: name), body: withoutIndentationAndComments(source))
            files[root + name] = file
            if name == "index.html" { files[root] = file }
        }
        return files
    }()

    /// Removes the indentation of each line, and the text of lines that begin with `//`, so that comments do not make
    /// the page slower. Keeps the line breaks, so that a browser reports errors with the line numbers of the source.
    private static func withoutIndentationAndComments(_ source: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for line in source.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let text = line.drop { $0 == UInt8(ascii: " ") }
            if !text.starts(with: "//".utf8) { result += text }
            result.append(UInt8(ascii: "\n"))
        }
        result.removeLast()
        return result
    }

    private static func type(of name: String) -> ContentType {
        switch name.split(separator: ".").last {
        case "html": .html
        case "css": .css
        case "svg": .svg
        default: .javaScript
        }
    }

    /// Answers a request for a file of the page; nil for any other request. The answer has the cursor in the field
    /// `Settings-Cursor`. With access control, `cursor` is nil, because the credential of the request is not checked.
    static func answer(_ head: RequestHead, _ bytes: Span<UInt8>, at cursor: @autoclosure () -> Cursor?) -> Response? {
        guard head.path.count == 1 || mayBeFile(head.path, bytes) else { return nil }
        let path = bytes.text(in: head.path)
        if path == "/" {
            guard head.method == .get || head.method == .head, prefersPage(head, bytes) else { return nil }
            return redirect(to: "ui/", at: cursor())
        }
        guard path == "/ui" || path.hasBytePrefix(root) else { return nil }
        if head.method == .options { return Response(allowing: allowed, cursor()) }
        guard head.method == .get || head.method == .head else {
            var problem = Problem(
                .methodNotAllowed,
                "the page does not support \(bytes.text(in: head.methodName)); use \(allowed.joined(separator: ", "))")
            problem.allow = allowed
            return Response(problem, cursor: cursor())
        }
        if path == "/ui" { return redirect(to: "ui/", at: cursor()) }
        guard let file = files[path] else {
            return Response(
                Problem(.unknownPath, "the web page has no file with this name; open the page at \(root)"),
                cursor: cursor())
        }
        return response(file, to: head, bytes, at: cursor())
    }

    /// True if a path may belong to the page. Compares bytes without allocating, because every request is checked.
    private static func mayBeFile(_ path: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
        path.count >= 3 && bytes.holds("/ui", in: path.lowerBound..<path.lowerBound + 3)
    }

    /// True if `Accept` prefers HTML to JSON. Browsers prefer HTML when the user opens an address.
    private static func prefersPage(_ head: RequestHead, _ bytes: Span<UInt8>) -> Bool {
        guard let accept = head.field(.accept) else { return false }
        let ranges = MediaRanges(bytes.text(in: accept))
        return ranges.quality(of: "text/html") > ranges.quality(of: "application/json")
    }

    /// Redirects to a relative address, so that the page also works behind a proxy that serves it under another path.
    private static func redirect(to address: StaticString, at cursor: Cursor?) -> Response {
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append("Location", address)
        fields.append("Vary", "Accept")
        return Response(status: 302, fields: fields)
    }

    /// Answers with a file, or with 304 if the client has the current version of the file.
    private static func response(
        _ file: File, to head: RequestHead, _ bytes: Span<UInt8>, at cursor: Cursor?
    ) -> Response {
        let knownTags = head.values(of: .ifNoneMatch, in: bytes).map { bytes.text(in: $0) }
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append(file.fields)
        return knownTags.contains { $0 == "*" || $0.contains(file.tag) }
            ? Response(status: 304, fields: fields)
            : Response(status: 200, contentType: file.type, fields: fields, body: file.body)
    }
}
