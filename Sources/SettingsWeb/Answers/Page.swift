internal import CPage
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A page for people that the program contains: the files under `/ui/`, to which `/` leads a browser.
///
/// The files hold no secrets, so they need no credential. What the page shows it asks for with the caller's token.
enum Page {
    /// A file, as it is and compressed, with the fields that each form is sent with.
    private struct File {
        /// What a file is sent as. Each form has a tag of its own.
        struct Form {
            let tag: String
            let fields: FieldBlock
            let body: [UInt8]

            init(_ body: [UInt8], tag: String, isCompressed: Bool) {
                self.body = body
                self.tag = tag
                var fields = FieldBlock()
                fields.append("ETag", text: tag)
                if isCompressed { fields.append("Content-Encoding", "gzip") }
                fields.append("Vary", "Accept-Encoding")
                fields.append("Content-Security-Policy", Page.policy)
                fields.append("Referrer-Policy", "no-referrer")
                fields.append("Cross-Origin-Opener-Policy", "same-origin")
                fields.append("Cross-Origin-Resource-Policy", "same-origin")
                self.fields = fields
            }
        }

        let type: ContentType
        let plain: Form
        /// Nil if the file would not be smaller.
        let compressed: Form?

        init(_ type: ContentType, _ body: [UInt8]) {
            self.type = type
            let digest = SHA256(body.span).hex.prefix(16)
            plain = Form(body, tag: "\"\(digest)\"", isCompressed: false)
            let smaller = Gzip.compress(body)
            compressed =
                smaller.count < body.count ? Form(smaller, tag: "\"\(digest)-gzip\"", isCompressed: true) : nil
        }
    }

    private static let root = "/ui/"
    private static let allowed = ["GET", "HEAD", "OPTIONS"]

    /// A policy that lets the page load its own files, call its own daemon, and nothing else.
    private static let policy: StaticString = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The files by their paths. They are read and compressed at the first request for one.
    private static let files: [String: File] = {
        var count = 0
        let table = page_files(&count)
        var files: [String: File] = [:]
        for entry in UnsafeBufferPointer(start: table, count: count) {
            let name = String(cString: entry.name)
            let bytes = UnsafeBufferPointer(start: entry.bytes, count: entry.count)
            let type = type(of: name)
            let file = File(type, lean(String(decoding: bytes, as: UTF8.self), type))
            files[root + name] = file
            if name == "index.html" { files[root] = file }
        }
        return files
    }()

    /// Leaves out what only those who read the source need: indentation, lines of comment, line ends of a script where a
    /// list or a block goes on, and in the style sheet those and the spaces round its marks. A fifth of the page is that.
    ///
    /// No text of a script goes over several lines, and none of the style sheet has a space beside such a mark.
    private static func lean(_ source: String, _ type: ContentType) -> [UInt8] {
        let (goesOn, marks) = (Array(",({[;".utf8), Array(":;,{}".utf8))
        let space = UInt8(ascii: " ")
        var bytes: [UInt8] = []
        for line in source.utf8.split(separator: UInt8(ascii: "\n")) {
            let text = line.drop { $0 == space }
            guard let last = text.last, !text.starts(with: "//".utf8), !text.starts(with: "/*".utf8) else { continue }
            guard type == .css else {
                bytes += text
                if !goesOn.contains(last) { bytes.append(UInt8(ascii: "\n")) }
                continue
            }
            for byte in text {
                if byte == space, let before = bytes.last, marks.contains(before) { continue }
                if bytes.last == space, byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") { bytes.removeLast() }
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func type(of name: String) -> ContentType {
        switch name.split(separator: ".").last {
        case "html": .html
        case "css": .css
        case "svg": .svg
        default: .javaScript
        }
    }

    /// Answers a request for the page; nil for one that is for something else.
    static func answer(
        _ head: RequestHead, _ bytes: Span<UInt8>, at cursor: @autoclosure () -> Cursor?
    ) -> Response? {
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
                "\(bytes.text(in: head.methodName)) does nothing here; there is \(allowed.joined(separator: ", "))")
            problem.allow = allowed
            return Response(problem, cursor: cursor())
        }
        if path == "/ui" { return redirect(to: "ui/", at: cursor()) }
        guard let file = files[path] else {
            return Response(
                Problem(.unknownPath, "the page has no such file; \(root) is the page"), cursor: cursor())
        }
        return response(file, to: head, bytes, at: cursor())
    }

    /// True if a path may be one of the page, found without a text made of it.
    private static func mayBeFile(_ path: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
        path.count >= 3 && bytes.holds("/ui", in: path.lowerBound..<path.lowerBound + 3)
    }

    /// True if `Accept` prefers a page to JSON, as browsers do when an address is typed.
    private static func prefersPage(_ head: RequestHead, _ bytes: Span<UInt8>) -> Bool {
        guard let accept = head.field(.accept) else { return false }
        let ranges = MediaRanges(bytes.text(in: accept))
        return ranges.quality(of: "text/html") > ranges.quality(of: "application/json")
    }

    private static func takesGzip(_ head: RequestHead, _ bytes: Span<UInt8>) -> Bool {
        let values = head.values(of: .acceptEncoding, in: bytes)
        return !values.isEmpty && MediaRanges(values.map { bytes.text(in: $0) }.joined(separator: ",")).takesGzip
    }

    /// A relative address, so that the page also works behind a proxy that puts a folder before it.
    private static func redirect(to address: StaticString, at cursor: Cursor?) -> Response {
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append("Location", address)
        fields.append("Vary", "Accept")
        return Response(status: 302, fields: fields)
    }

    /// Answers with the form that the client takes, or with 304 if it has one, whichever that is.
    private static func response(
        _ file: File, to head: RequestHead, _ bytes: Span<UInt8>, at cursor: Cursor?
    ) -> Response {
        let known = head.values(of: .ifNoneMatch, in: bytes).map { bytes.text(in: $0) }
        let wanted = takesGzip(head, bytes) ? file.compressed ?? file.plain : file.plain
        let forms = [wanted, file.plain] + (file.compressed.map { [$0] } ?? [])
        let had = forms.first { form in known.contains { $0 == "*" || $0.contains(form.tag) } }
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append((had ?? wanted).fields)
        return had != nil
            ? Response(status: 304, fields: fields)
            : Response(status: 200, contentType: file.type, fields: fields, body: wanted.body)
    }
}
