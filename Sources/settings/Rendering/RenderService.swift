import SettingsAPI
import SettingsHTTP

/// Renders files again after each change of the settings: `render --watch`.
struct RenderService {
    /// The failure of a task at the last state of the settings.
    private struct Failure: Equatable {
        /// The content with which the file could not be replaced; nil if the template could not be rendered.
        let content: [UInt8]?
        let message: String
        /// True if the file could not be written. Then a later attempt may succeed without a change of the settings.
        var isRetried = false
    }

    /// The pause before the first attempt to write a file again. Each further pause is twice as long.
    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    private let tasks: [RenderTask]
    /// The failure of each task; nil if the task has succeeded.
    private var failures: [Failure?]

    init(tasks: [RenderTask]) {
        self.tasks = tasks
        failures = Array(repeating: nil, count: tasks.count)
    }

    /// Runs until the daemon answers with an error that a retry cannot correct. A failure of a task is only a warning.
    ///
    /// - Parameter settleTime: the time from a change until files are rendered. Changes in this time are rendered
    ///   together. The first rendering does not wait. A repeated attempt to write a file waits for this time after its
    ///   pause.
    mutating func run(_ suites: [SuiteName], _ client: DaemonClient, settleTime: Duration) async throws {
        let (events, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        // A change while files are rendered is the next event, so no change is missed.
        let follower = Task {
            do {
                for try await _ in client.changes(of: suites, latest: true).withOutageWarnings { continuation.yield() }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        defer { follower.cancel() }
        var (isFirst, pause, retry) = (true, Self.shortestPause, Task<Void, any Error>?.none)
        for try await _ in events {
            if !isFirst { try await Task.sleep(for: settleTime) }
            isFirst = false
            let settings = try await SettingsSnapshot.read(suites, from: client)
            for (index, task) in tasks.enumerated() {
                let failure = update(task, settings, after: failures[index])
                if let failure, failure != failures[index] { Terminal.warn(failure.message) }
                failures[index] = failure
            }
            try Terminal.flush()
            retry?.cancel()
            guard failures.contains(where: { $0?.isRetried ?? false }) else {
                pause = Self.shortestPause
                continue
            }
            retry = Task { [pause] in
                try await Task.sleep(for: pause)
                continuation.yield()
            }
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// Renders a file. Returns the failure; nil after a success.
    ///
    /// - Parameter failure: the failure of the task at the previous state.
    private func update(_ task: RenderTask, _ settings: SettingsSnapshot, after failure: Failure?) -> Failure? {
        var content: [UInt8]?
        do {
            let rendered = try task.renderedContent(settings)
            // The command `check` or `reload` of the task failed with this content, and would probably fail again.
            if let failure, !failure.isRetried, failure.content == rendered { return failure }
            content = rendered
            if try task.file?.update(to: rendered) ?? false { print("wrote \(Terminal.escaped(task.path))") }
            return nil
        } catch {
            let isRetried = content != nil && !(error is AtomicFile.CommandFailure)
            return Failure(content: content, message: ToolError(describing: error).message, isRetried: isRetried)
        }
    }
}
