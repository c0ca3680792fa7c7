internal import Dispatch
internal import Platform
internal import Synchronization

/// The reason why a token cannot be sent.
package struct TokenError: Error, Equatable, Sendable {
    package enum Kind: Sendable {
        /// The file cannot be read or is too large, or the text is empty.
        case unreadable
        /// The text contains a character that no token contains.
        case malformed
        /// The file system did not answer before the deadline.
        case timedOut
    }

    package let kind: Kind
    /// A complete error message, such as `cannot read the token file /path: it is empty`.
    package let message: String
}

/// A file with a token. Thread-safe.
///
/// A file on a network mount may take minutes to answer, or never answer. Therefore a separate thread reads the file,
/// at most one thread at a time for each object, and no lock is held during the read.
final class AccessTokenFile: Sendable {
    typealias Content = Result<String, TokenError>
    typealias Completion = @Sendable (Content) -> Void
    /// Reads at most `AccessTokenFile.maximumLength + 1` bytes of the file at a path. More than `maximumLength` bytes
    /// show that the file is too large.
    typealias Read = @Sendable (String) -> Result<[UInt8], UnreadableFile>

    private struct State {
        /// The token of the last successful read; nil if the file has to be read.
        var token: String?
        var isReading = false
        var lastID: UInt64 = 0
        /// The callers that wait for the read that is in progress.
        var waiting: [UInt64: Completion] = [:]
    }

    /// A call of ``AccessTokenFile/read(_:)`` that may not have called its completion yet.
    struct PendingRead: Sendable {
        fileprivate let file: AccessTokenFile
        fileprivate let id: UInt64

        /// Prevents the call of the completion, unless the read has already ended: the call may then still follow. The
        /// thread that reads the file continues.
        func cancel() {
            _ = file.state.withLock { $0.waiting.removeValue(forKey: id) }
        }
    }

    static let maximumLength = 4096

    let path: String
    /// The phrase for the file in error messages, such as `the token file /path`.
    private let label: String
    private let readBytes: Read
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: The path of the file.
    ///   - variable: The environment variable that contains the path, for error messages; nil if the path does not come
    ///     from a variable.
    ///   - read: Reads the file. Nil to read the file only if it is a regular file.
    init(_ path: String, from variable: String?, read: Read? = nil) {
        self.path = path
        label =
            (path == "-" ? "the token from standard input" : "the token file \(path.withVisibleBytes)")
            + (variable.map { " (\($0))" } ?? "")
        readBytes =
            read ?? { path in
                Result { () throws(UnreadableFile) in
                    try FileContents.readRegularFile(path, upTo: Self.maximumLength + 1)
                }
            }
    }

    /// The token of the last successful read; nil if the file has to be read.
    var token: String? { state.withLock { $0.token } }

    /// Forgets this token, because the daemon has refused it. The next request reads the file again.
    func discard(_ token: String) {
        state.withLock { state in
            // Another request may have read a newer token in the meantime.
            if state.token == token { state.token = nil }
        }
    }

    /// Reads the file on another thread, unless the token is known. A call during a read gets the result of this read.
    ///
    /// - Parameter completion: Called at most once, on the thread that reads or on a thread that calls this method. It
    ///   must not block.
    func read(_ completion: @escaping Completion) -> PendingRead {
        let (token, id, isFirst) = state.withLock { state -> (String?, UInt64, Bool) in
            state.lastID += 1
            guard state.token == nil else { return (state.token, state.lastID, false) }
            state.waiting[state.lastID] = completion
            let isFirst = !state.isReading
            state.isReading = true
            return (nil, state.lastID, isFirst)
        }
        if let token { completion(.success(token)) }
        if isFirst {
            do throws(SystemError) {
                try DetachedThread.start { self.completeReads(with: self.content()) }
            } catch {
                completeReads(with: .failure(self.error(.unreadable, error.reason)))
            }
        }
        return PendingRead(file: self, id: id)
    }

    /// Reads the file and blocks the calling thread until the file is read or the deadline has passed.
    func content(by deadline: ContinuousClock.Instant) -> Content {
        let inbox = Inbox()
        let pending = read { content in
            inbox.content.withLock { $0 = content }
            inbox.arrival.signal()
        }
        _ = inbox.arrival.wait(timeout: .after(deadline - .now))
        pending.cancel()
        return inbox.content.withLock { $0 } ?? .failure(timeoutError)
    }

    /// The error of a request whose deadline passes during the read.
    var timeoutError: TokenError { error(.timedOut, "the file system did not answer in time") }
}

extension AccessTokenFile {
    /// The result of a read, for a thread that waits for the result.
    private final class Inbox: Sendable {
        let content = Mutex<Content?>(nil)
        let arrival = DispatchSemaphore(value: 0)
    }

    private func completeReads(with content: Content) {
        let completions = state.withLock { state in
            state.isReading = false
            state.token = try? content.get()
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for completion in completions { completion(content) }
    }

    /// Reads the file on the calling thread.
    private func content() -> Content {
        do throws(UnreadableFile) {
            let bytes = try readBytes(path).get()
            guard bytes.count <= Self.maximumLength else {
                return .failure(error(.unreadable, "it has more than \(Self.maximumLength) bytes"))
            }
            return TokenText.parse(bytes).mapError { error($0.kind, $0.reason) }
        } catch {
            return .failure(self.error(.unreadable, error.reason))
        }
    }

    private func error(_ kind: TokenError.Kind, _ reason: String) -> TokenError {
        TokenError(kind: kind, message: "cannot read \(label): \(reason)")
    }
}

/// Checks the text of a token, because a line end in a token would begin another header field.
enum TokenText {
    enum Fault: Error {
        case empty
        case malformed

        var kind: TokenError.Kind { self == .empty ? .unreadable : .malformed }

        var reason: String {
            switch self {
            case .empty: "it is empty"
            case .malformed: "it contains a character that is not visible ASCII"
            }
        }
    }

    /// Returns the token without the blanks and line ends around it.
    static func parse(_ bytes: [UInt8]) -> Result<String, Fault> {
        guard let text = String(validating: bytes, as: UTF8.self) else { return .failure(.malformed) }
        let isBlank = { (letter: Character) in letter.isWhitespace }
        let token = String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
        guard !token.isEmpty else { return .failure(.empty) }
        return token.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? .success(token) : .failure(.malformed)
    }
}
