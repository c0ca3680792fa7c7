import Foundation
import TestSupport
import Testing

/// Tests of `settings render` with the configuration of a running nginx.
@Suite(.ownThread)
struct NginxRenderTests {
    private static let template = """
        daemon off;
        {{#if web.user}}
        user {{ web.user }};
        {{/if}}
        worker_processes 1;
        error_log stderr notice;
        pid nginx.pid;
        events { worker_connections 64; }
        http {
            access_log off;
        {{#each web.temporary as name}}
            {{ name }}_temp_path {{ name }};
        {{/each}}
            server {
                listen 127.0.0.1:{{ web.port }};
                location / { return 200 {{ web.greeting | json }}; }
            }
        }

        """

    @Test
    func `nginx serves each new configuration without a failed request, and a wrong configuration is not installed`()
        throws
    {
        let shell = try Shell(hasSchema: false)
        let folder = shell.directory.path
        let port = try LocalPort.free()
        // As root, nginx would otherwise run its workers as another user.
        try shell.runSettings(
            "set", "web", "port=\(port)", "greeting=v1", "user=\(geteuid() == 0 ? #""root""# : "null")",
            #"temporary=["client_body","proxy","fastcgi","uwsgi","scgi"]"#)
        _ = try shell.directory.file("nginx.conf.tmpl", Self.template)
        let nginx = "PATH=$PATH:/usr/sbin nginx -e stderr -p \(folder)"
        let options = "nginx.conf.tmpl --to nginx.conf --check '\(nginx) -t -c {}'"
        #expect(try shell.run("settings render \(options)").output == "wrote nginx.conf\n")
        let server = try ChildProcess.startTool("nginx", "-e stderr -p \(folder) -c \(folder)/nginx.conf", in: folder)
        _ = try server.line(containing: "start worker process")
        let render = try shell.start(
            "exec settings render \(options) --reload '\(nginx) -c \(folder)/nginx.conf -s reload' --watch --settle 0 >&2"
        )
        try shell.awaitWatcher()

        let log = Self.startClients(on: port)
        // The clients must also stop if an expectation throws, so that they do not disturb other tests.
        defer { log.add("stop") }
        /// Sends requests until nginx answers with a greeting.
        func awaitGreeting(_ greeting: String) throws {
            try eventually { try Self.answer(from: port).text == greeting }
        }
        try awaitGreeting("v1")
        for version in 2...4 {
            try shell.runSettings("set", "web", "greeting=v\(version)")
            try awaitGreeting("v\(version)")
        }
        let installed = shell.text("nginx.conf")
        try shell.runSettings("set", "web", "port=none")
        let message = try render.line(containing: "cannot replace nginx.conf: the check")
        #expect(message.hasSuffix("ended with exit code 1; the old file stays"))
        _ = try render.line(containing: #"invalid port in "127.0.0.1:none""#)
        #expect(shell.text("nginx.conf") == installed)
        try awaitGreeting("v4")
        try shell.runSettings("set", "web", "port=\(port)", "greeting=v5")
        try awaitGreeting("v5")
        log.add("stop")
        #expect(log.wait(for: "ended", times: Self.clientCount))
        #expect(log.count("answered") == Self.clientCount)
        #expect(log.all.allSatisfy { ["answered", "stop", "ended"].contains($0) }, "\(log.all)")
        render.signal(SIGTERM)
        _ = try render.end()
        server.signal(SIGTERM)
        #expect(try server.end().code == 0)
    }

    private static let clientCount = 3

    private static func answer(from port: UInt16) throws -> RawResponse {
        try RawClient(port: port).exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    }

    /// Starts clients that send requests until the event "stop" is in the returned log. The log has "answered" for the
    /// first answer of each client, "ended" for its end, and each failure.
    private static func startClients(on port: UInt16) -> EventLog {
        let log = EventLog()
        for _ in 0..<clientCount {
            Thread.detachNewThread {
                var hasAnswer = false
                while log.count("stop") == 0 {
                    do {
                        let answer = try answer(from: port)
                        if answer.status != 200 { log.add("status \(answer.status)") }
                        if !hasAnswer { log.add("answered") }
                        hasAnswer = true
                    } catch {
                        log.add("\(error)")
                    }
                }
                log.add("ended")
            }
        }
        return log
    }
}
