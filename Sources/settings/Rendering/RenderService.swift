import SettingsAPI
import SettingsHTTP

/// Renders files again after each change of the settings: `render --watch`.
struct RenderService {
    /// The last failure of a task.
    private struct Failure: Equatable {
        /// The content that could not be written; nil if the template could not be rendered.
        let content: [UInt8]?
        let message: String
    }

    private let tasks: [RenderTask]
    private var failures: [Failure?]

    init(tasks: [RenderTask]) {
        self.tasks = tasks
        failures = Array(repeating: nil, count: tasks.count)
    }

    /// Runs until an error that a retry cannot correct.
    ///
    /// - Parameter settleTime: the time for which changes are collected.
    mutating func run(_ suites: [SuiteName], _ client: DaemonClient, settleTime: Duration) async throws {
        var isFirst = true
        // The sequence continues after the last change that it has returned, so it misses no change while files are
        // rendered.
        for try await _ in client.changes(of: suites, latest: true).warningOfOutages {
            if !isFirst { try await Task.sleep(for: settleTime) }
            isFirst = false
            let settings = try await SettingsSnapshot.read(suites, from: client)
            for (index, task) in tasks.enumerated() {
                let failure = update(task, settings, after: failures[index])
                if let failure, failure != failures[index] { Terminal.warn(failure.message) }
                failures[index] = failure
            }
            try Terminal.flush()
        }
    }

    /// Renders a file. Returns the failure; nil if there is none.
    private func update(_ task: RenderTask, _ settings: SettingsSnapshot, after failure: Failure?) -> Failure? {
        var content: [UInt8]?
        do {
            let rendered = try task.content(settings)
            // The check and the reload of the same content would probably fail again.
            if let failure, failure.content == rendered { return failure }
            content = rendered
            if try task.file?.update(to: rendered) ?? false { print("wrote \(Terminal.plain(task.path))") }
            return nil
        } catch {
            return Failure(content: content, message: ToolError(describing: error).message)
        }
    }
}
