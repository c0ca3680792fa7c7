import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// The files of the page for people. What the page does in a browser, `scripts/check-page` tries.
@Suite
struct PageTests {
    private static let browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    @Test("A browser is led from / to the page; any other caller gets 404 with a hint to /v1")
    func root() throws {
        let daemon = try TestDaemon()
        for path in ["/", "/ui"] {
            let answer = try daemon.send(Request("GET \(path)", Self.browser))
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
        "A file has its type, a tag, and a policy that lets in no foreign code; a known tag answers 304",
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
        "Accept-Encoding chooses the form of a file by its qualities",
        arguments: [
            ("", false), ("Accept-Encoding: gzip, deflate, br, zstd", true), ("Accept-Encoding: GZIP", true),
            ("Accept-Encoding: x-gzip", true), ("Accept-Encoding: *", true), ("Accept-Encoding: gzip;q=0", false),
            ("Accept-Encoding: *, gzip;q=0", false), ("Accept-Encoding: *;q=0", false),
            ("Accept-Encoding: *;q=0, gzip", true), ("Accept-Encoding: gzip;q=0.5, identity", false),
            ("Accept-Encoding: gzip;q=0.5, identity;q=0.4", true), ("Accept-Encoding: br", false),
            ("Accept-Encoding:", false), ("Accept-Encoding: br\r\nAccept-Encoding: gzip", true),
        ])
    func coding(field: String, isCompressed: Bool) throws {
        let daemon = try TestDaemon()
        let answer = try daemon.send(Request("GET /ui/main.js", field))
        #expect(answer.status == 200)
        #expect(answer.field("Content-Encoding") == (isCompressed ? "gzip" : nil))
        #expect(answer.body.starts(with: isCompressed ? [0x1F, 0x8B] : Array("import".utf8)))
        #expect(answer.field("Vary") == "Accept-Encoding")
        #expect(answer.field("Content-Type") == "text/javascript; charset=utf-8")
        let head = try daemon.send(Request("HEAD /ui/main.js", field))
        for name in ["Content-Encoding", "Content-Length", "ETag", "Vary"] {
            #expect(head.field(name) == answer.field(name), "\(name)")
        }
    }

    @Test("Each form of a file has its tag, and a client that has either form gets 304 with that tag")
    func formTags() throws {
        let daemon = try TestDaemon()
        let gzip = "Accept-Encoding: gzip"
        let plain = try #require(daemon.send(Request("GET /ui/style.css")).field("ETag"))
        let compressed = try #require(daemon.send(Request("GET /ui/style.css", gzip)).field("ETag"))
        #expect(plain != compressed)
        for (tags, accepts, known) in [
            (plain, "", plain), (plain, gzip, plain), (compressed, "", compressed), (compressed, gzip, compressed),
            ("\(plain), \(compressed)", gzip, compressed), ("\(plain), \(compressed)", "", plain),
            ("*", gzip, compressed),
        ] {
            for method in ["GET", "HEAD"] {
                let answer = try daemon.send(Request("\(method) /ui/style.css", accepts, "If-None-Match: \(tags)"))
                #expect(answer.status == 304, "\(tags)")
                #expect(answer.field("ETag") == known, "\(tags)")
                #expect(answer.field("Vary") == "Accept-Encoding")
                #expect(answer.body.isEmpty)
            }
        }
    }

    @Test(
        "index.html names files that are there and has no inline script or style; it is at most 120 kB in all, and less than half of that compressed"
    )
    func whole() throws {
        let daemon = try TestDaemon()
        let index = try daemon.send("GET /ui/").text
        var names = ["index.html", "icon.svg"]
        for part in index.split(separator: "\"") where part.hasSuffix(".js") || part.hasSuffix(".css") {
            names.append(String(part))
        }
        #expect(!index.contains("<style") && !index.contains("style=") && !index.contains("<script>"))
        var (bytes, compressed) = (0, 0)
        var seen: Set<String> = []
        while let name = names.popLast() {
            guard seen.insert(name).inserted else { continue }
            let file = try daemon.send(Request("GET /ui/\(name)"))
            #expect(file.status == 200, "\(name)")
            bytes += file.body.count
            compressed += try daemon.send(Request("GET /ui/\(name)", "Accept-Encoding: gzip")).body.count
            for part in file.text.split(separator: "\"") where part.hasPrefix("./") {
                names.append(String(part.dropFirst(2)))
            }
        }
        #expect(seen.count > 15)
        #expect(bytes <= 120_000)
        #expect(compressed <= 50_000)
    }

    @Test(
        "What is not a file of the page is refused",
        arguments: [
            ("GET /ui/none", 404), ("GET /ui/../LOCK", 404), ("GET /uix", 404), ("PUT /ui/ 1", 405),
            ("OPTIONS /ui/", 204),
        ]
            as [(Request, Int)])
    func refused(request: Request, status: Int) throws {
        let daemon = try TestDaemon()
        let answer = try daemon.send(request)
        #expect(answer.status == status)
        if status == 405 { #expect(answer.field("Allow") == "GET, HEAD, OPTIONS") }
    }

    @Test("The page needs no token, the settings do; page: false takes it away")
    func access() throws {
        let guarded = try GuardedDaemon(["reader": ["*:read"]])
        #expect(try guarded.send(Request("GET /ui/"), as: nil).status == 200)
        #expect(try guarded.send(Request("GET /", Self.browser), as: nil).status == 302)
        #expect(try guarded.send(Request("GET /v1/suites"), as: nil).status == 401)
        let plain = try TestDaemon { $0.servesPage = false }
        #expect(try plain.send(Request("GET /ui/")).status == 404)
        #expect(try plain.send(Request("GET /", Self.browser)).status == 404)
    }

    @Test("The page is refused to a name that is not the daemon's")
    func host() throws {
        let daemon = try TestDaemon()
        #expect(try daemon.send(Request("GET /ui/", "Host: evil.example")).status == 421)
    }
}
