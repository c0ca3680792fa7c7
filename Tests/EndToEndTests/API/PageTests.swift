import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Requests for the files of the web page. `scripts/check-page` tests the page in a browser. `Request` sends no line
/// for an empty field.
@Suite
struct PageTests {
    private static let acceptOfBrowser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    @Test
    func `GET / or /ui redirects a browser to the page; GET / answers other clients with 404 and names /v1`() throws {
        let daemon = try TestDaemon()
        for path in ["/", "/ui"] {
            let answer = try daemon.send(Request("GET \(path)", Self.acceptOfBrowser))
            #expect(answer.status == 302)
            #expect(answer.field("Location") == "ui/")
            #expect(answer.field("Vary") == "Accept")
        }
        for accept in ["Accept: */*", "Accept: application/json", "Accept: text/html;q=0.5, application/json", ""] {
            let answer = try daemon.send(Request("GET /", accept))
            #expect(answer.status == 404)
            #expect(answer.text.contains("/v1"))
        }
    }

    @Test(
        "GET of a file returns its type, an ETag and a policy that forbids foreign code; a known ETag returns 304",
        arguments: [
            ("/ui/", "text/html; charset=utf-8"), ("/ui/index.html", "text/html; charset=utf-8"),
            ("/ui/style.css", "text/css; charset=utf-8"), ("/ui/main.js", "text/javascript; charset=utf-8"),
            ("/ui/icon.svg", "image/svg+xml"),
        ])
    func file(path: String, type: String) throws {
        let daemon = try TestDaemon()
        let answer = try daemon.send(Request("GET \(path)"))
        #expect(answer.status == 200)
        #expect(answer.field("Content-Type") == type)
        let policy = try #require(answer.field("Content-Security-Policy"))
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(answer.field("Referrer-Policy") == "no-referrer")
        let tag = try #require(answer.field("ETag"))
        for known in [tag, "\"other\", W/\(tag)", "*"] {
            let second = try daemon.send(Request("GET \(path)", "If-None-Match: \(known)"))
            #expect(second.status == 304)
            #expect(second.body.isEmpty)
        }
        #expect(try daemon.send(Request("GET \(path)", "If-None-Match: \"other\"")).status == 200)
        #expect(try daemon.send(Request("HEAD \(path)")).field("ETag") == tag)
    }

    @Test(
        "GET of a file, with any Accept-Encoding or none, has no content coding; HEAD returns the same length and ETag",
        arguments: ["", "Accept-Encoding: gzip, deflate, br, zstd", "Accept-Encoding: *"])
    func coding(field: String) throws {
        let daemon = try TestDaemon()
        let answer = try daemon.send(Request("GET /ui/main.js", field))
        #expect(answer.status == 200)
        #expect(answer.field("Content-Encoding") == nil)
        #expect(answer.text.contains("\nimport {"))
        #expect(answer.field("Content-Type") == "text/javascript; charset=utf-8")
        let head = try daemon.send(Request("HEAD /ui/main.js", field))
        for name in ["Content-Length", "ETag"] { #expect(head.field(name) == answer.field(name), "\(name)") }
    }

    @Test
    func `index.html has no inline script or style; its files have at most 170 kB for the first view, 250 kB in all`()
        throws
    {
        let daemon = try TestDaemon()
        let index = try daemon.send("GET /ui/").text
        #expect(!index.contains("<style") && !index.contains("style=") && !index.contains("<script>"))
        var sizes: [String: Int] = [:]
        /// Gets a file and, recursively, the files that it imports. If `includesLaterImports` is false, gets only the
        /// files of import statements with `from`, which the browser loads together with the file.
        func load(_ name: String, includesLaterImports: Bool) throws {
            guard sizes[name] == nil else { return }
            let file = try daemon.send(Request("GET /ui/\(name)"))
            #expect(file.status == 200, "\(name)")
            // The daemon removes indentation and comments.
            #expect(!file.text.contains("\n ") && !file.text.contains("\n//"), "\(name)")
            sizes[name] = file.body.count
            for statement in file.text.split(separator: "\n")
            where includesLaterImports || statement.contains(" from \"./") {
                for part in statement.split(separator: "\"") where part.hasPrefix("./") {
                    try load(String(part.dropFirst(2)), includesLaterImports: includesLaterImports)
                }
            }
        }
        try load("index.html", includesLaterImports: false)
        try load("icon.svg", includesLaterImports: false)
        for part in index.split(separator: "\"") where part.hasSuffix(".js") || part.hasSuffix(".css") {
            try load(String(part), includesLaterImports: false)
        }
        #expect(sizes["main.js"] != nil && sizes["history.js"] == nil)
        #expect(sizes.values.reduce(0, +) <= 170_000)
        // `modules.js` names the modules that the page imports after its first view.
        let modules = try daemon.send("GET /ui/modules.js").text
        for part in modules.split(separator: "\"") where part.hasPrefix("./") {
            try load(String(part.dropFirst(2)), includesLaterImports: true)
        }
        #expect(sizes["history.js"] != nil && sizes["textdiff.js"] != nil)
        #expect(sizes.values.reduce(0, +) <= 250_000)
    }

    @Test(
        "A request for a file that the page does not have, or a PUT, is refused; OPTIONS returns 204",
        arguments: [
            ("GET /ui/none", 404), ("GET /ui/../LOCK", 404), ("GET /uix", 404), ("PUT /ui/ 1", 405),
            ("OPTIONS /ui/", 204),
        ]
            as [(Request, Int)])
    func refused(request: Request, status: Int) throws {
        // `LOCK` is a file of the data directory, which the daemon must never send.
        let daemon = try TestDaemon()
        let answer = try daemon.send(request)
        #expect(answer.status == status)
        if status == 405 { #expect(answer.field("Allow") == "GET, HEAD, OPTIONS") }
    }

    @Test
    func `GET of the page needs no token, and is answered with 404 if the option page is false`() throws {
        let protected = try ProtectedDaemon(["reader": ["*:read"]])
        #expect(try protected.send(Request("GET /ui/"), as: nil).status == 200)
        #expect(try protected.send(Request("GET /", Self.acceptOfBrowser), as: nil).status == 302)
        #expect(try protected.send(Request("GET /v1/suites"), as: nil).status == 401)
        let plain = try TestDaemon { $0.servesWebPage = false }
        #expect(try plain.send(Request("GET /ui/")).status == 404)
        #expect(try plain.send(Request("GET /", Self.acceptOfBrowser)).status == 404)
    }

    @Test
    func `GET of the page with another Host is answered with 421`() throws {
        let daemon = try TestDaemon()
        #expect(try daemon.send(Request("GET /ui/", "Host: evil.example")).status == 421)
    }
}
