import ClientTestSupport
import Dispatch
import Glibc
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of requests of a client whose token is in a file. The log of the `ScriptedServer` gets the entry `connection`
/// for each connection, and its script adds the token of each request. `ScriptedServer.service` is the answer to the
/// request `.service`.
@Suite(.ownThread)
struct AccessTokenFileTests {
    private let directory: TemporaryDirectory
    private let server: ScriptedServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                let field = request.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }
                log.add(field.map(String.init) ?? "no token")
                peer.send(ScriptedServer.service)
            }
        }
    }

    struct UnusableFile: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The end of the error message.
        let reason: String
        /// Creates the file at a path.
        let create: @Sendable (String) -> Void

        init(_ description: String, reason: String, create: @escaping @Sendable (String) -> Void) {
            testDescription = description
            self.reason = reason
            self.create = create
        }

        init(_ description: String, content: [UInt8], reason: String) {
            self.init(description, reason: reason) { path in
                guard let file = fopen(path, "we") else { return }
                fwrite(content, 1, content.count, file)
                fclose(file)
            }
        }
    }

    private static let malformed = "it contains a character that is not visible ASCII"

    static let unusableFiles = [
        UnusableFile("a missing file", reason: "No such file or directory") { _ in },
        UnusableFile("a FIFO", reason: "it is a FIFO, not a regular file") { mkfifo($0, 0o600) },
        UnusableFile("a directory", reason: "it is a directory, not a regular file") { mkdir($0, 0o700) },
        UnusableFile("a device", reason: "it is a device, not a regular file") { symlink("/dev/zero", $0) },
        UnusableFile("an empty file", content: [], reason: "it is empty"),
        UnusableFile("a file of blanks and line ends", content: Array(" \r\n\n".utf8), reason: "it is empty"),
        UnusableFile("two words", content: Array("one two\n".utf8), reason: malformed),
        UnusableFile("a line end in the token", content: Array("one\r\nX: two".utf8), reason: malformed),
        UnusableFile("a letter that is not ASCII", content: Array("tökén".utf8), reason: malformed),
        UnusableFile("bytes that are not UTF-8", content: [0x61, 0xFF], reason: malformed),
        UnusableFile(
            "a file that is too long", content: Array(repeating: 0x61, count: 4097),
            reason: "it has more than 4096 bytes"),
    ]

    @Test("Each request fails with an error that names the unusable token file", arguments: unusableFiles)
    func unusableTokenFile(file: UnusableFile) async throws {
        let path = directory.path + "/token"
        file.create(path)
        let client = DaemonClient(
            server.address, token: AccessToken(file: path), timeout: .seconds(Deadline.patience))
        // After a failed read, the next request reads the file again.
        for _ in 0..<2 {
            let blockingError = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
            let asyncError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
            for error in [blockingError, asyncError] {
                #expect(error?.description == "cannot read the token file \(path): \(file.reason)")
                #expect(error?.outcome == .notDone && error?.isTransient == false)
            }
        }
        #expect(server.log.count("connection") == 0)
    }

    @Test("A token file that is created after a failed request is read for the next request")
    func createdLater() async throws {
        let path = directory.path + "/token"
        let client = DaemonClient(
            server.address, token: AccessToken(file: path), timeout: .seconds(Deadline.patience))
        await #expect(throws: SettingsError.self) { try await client.send(.service) }
        _ = try directory.file("token", "\n secret \n")
        _ = try await client.send(.service)
        _ = try client.blocking.send(.service)
        #expect(server.log.count("Authorization: Bearer secret") == 2)
    }

    @Test("After a refused token, the next request fails if the file is missing, and a new file is read")
    func goneAfterRefusal() async throws {
        let server = try ScriptedServer { _, peer, _ in
            while let request = peer.readRequest() {
                let isAccepted = request.contains("Bearer new\r\n")
                peer.send(isAccepted ? ScriptedServer.service : ScriptedServer.answer("{}", status: 401))
            }
        }
        let path = try directory.file("token", "old")
        let client = DaemonClient(
            server.address, token: AccessToken(file: path), timeout: .seconds(Deadline.patience))
        let refusal = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(refusal?.status == 401)
        unlink(path)
        let error = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(
            error
                == .unusableToken("cannot read the token file \(path): No such file or directory", outcome: .notDone))
        _ = try directory.file("token", "new")
        #expect(try await client.send(.service).name == "settingsd")
    }

    @Test("If an environment variable names the token file, an error about the file names the variable")
    func variable() throws {
        let path = directory.path + "/missing"
        let client = DaemonClient(server.address, token: AccessToken(file: path, from: AccessToken.fileVariable))
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        let message = "cannot read the token file \(path) (SETTINGS_TOKEN_FILE): No such file or directory"
        #expect(error == .unusableToken(message, outcome: .notDone))
        #expect(server.log.count("connection") == 0)
    }

    // MARK: A file system that does not answer

    /// A client whose reads of its token file block until the test signals the gate.
    private func client(
        waitingFor gate: DispatchSemaphore, timeout: Duration = .seconds(Deadline.patience)
    ) -> DaemonClient {
        let file = AccessTokenFile("/mnt/token", from: nil) { [log = server.log] path in
            log.add("read of \(path)")
            gate.patientWait()
            return .success(Array("secret\n".utf8))
        }
        return DaemonClient(server.address, token: AccessToken(.file(file)), timeout: timeout)
    }

    @Test("While the read of a token file blocks, requests without the token get answers", .timeLimit(.minutes(10)))
    func otherRequests() async throws {
        let gate = DispatchSemaphore(value: 0)
        let (client, other) = (client(waitingFor: gate), server.client())
        let waiting = Task { try await client.send(.service) }
        #expect(await server.log.waits(for: "read of /mnt/token"))
        #expect(try await other.send(.service).name == "settingsd")
        #expect(try other.blocking.send(.service).name == "settingsd")
        #expect(server.log.count("Authorization: Bearer secret") == 0)
        gate.signal()
        #expect(try await waiting.value.name == "settingsd")
        #expect(server.log.count("Authorization: Bearer secret") == 1)
    }

    @Test(
        "While the read of a token file blocks, requests share the read, and fail at their deadlines")
    func deadline() async throws {
        let gate = DispatchSemaphore(value: 0)
        let client = client(waitingFor: gate, timeout: .milliseconds(20))
        let timeoutError = SettingsError.timedOut(
            "\(server.address): cannot read the token file /mnt/token: the file system did not answer in time",
            outcome: .notDone)
        for _ in 0..<3 {
            let blockingError = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
            let asyncError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
            #expect(blockingError == timeoutError && asyncError == timeoutError)
        }
        #expect(await server.log.waits(for: "read of /mnt/token"))
        #expect(server.log.all == ["read of /mnt/token"])
        gate.signal()
        let patient = client.withTimeout(.seconds(Deadline.patience))
        #expect(try patient.blocking.send(.service).name == "settingsd")
        #expect(server.log.count("read of /mnt/token") == 1)
    }

    @Test("A task that waits for a token file is cancelled at once", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let gate = DispatchSemaphore(value: 0)
        let client = client(waitingFor: gate)
        let task = Task { try await client.send(.service) }
        #expect(await server.log.waits(for: "read of /mnt/token"))
        task.cancel()
        let error = await #expect(throws: SettingsError.self) { try await task.value }
        #expect(error == .cancelled(outcome: .notDone))
        gate.signal()
        #expect(server.log.count("connection") == 0)
    }

    @Test("If the daemon refuses an older token, the client keeps the newer token")
    func olderToken() {
        let file = AccessTokenFile("/mnt/token", from: nil) { _ in .success(Array("newer".utf8)) }
        #expect(file.content(by: .now + .seconds(Deadline.patience)) == .success("newer"))
        file.discard("older")
        #expect(file.token == "newer")
        file.discard("newer")
        #expect(file.token == nil)
    }
}
