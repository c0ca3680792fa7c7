import SettingsAPI
import SettingsHTTP

/// Renders files again after each change of the settings: `render --watch`.
final class RenderService: Sendable {
    private let tasks: [RenderTask]
    private let renderer: SettingsRenderer
    /// The time for which changes are collected.
    private let settle: Duration

    init(tasks: [RenderTask], renderer: SettingsRenderer, settle: Duration) {
        (self.tasks, self.renderer, self.settle) = (tasks, renderer, settle)
    }

    /// Runs until an error that a retry cannot correct.
    func run() async throws {
        // One element is enough, because the consumer reads the newest settings.
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.follow(continuation) }
            group.addTask { try await self.render(after: changes) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Signals each change.
    private func follow(_ continuation: AsyncStream<Void>.Continuation) async throws {
        for try await _ in renderer.client.changes(of: renderer.suites, latest: true).warningOfOutages {
            continuation.yield()
        }
    }

    /// The last failure of a task.
    private struct Failure: Equatable {
        /// The content that could not be written; nil if the template could not be rendered.
        let content: [UInt8]?
        let message: String
    }

    private func render(after changes: AsyncStream<Void>) async throws {
        var failures = [Failure?](repeating: nil, count: tasks.count)
        var isFirst = true
        for await _ in changes {
            if !isFirst { try await Task.sleep(for: settle) }
            isFirst = false
            let settings = try await renderer.settings()
            for (index, task) in tasks.enumerated() {
                let failure = await update(task, settings, after: failures[index])
                if let failure, failure != failures[index] { Terminal.warn(failure.message) }
                failures[index] = failure
            }
            try Terminal.flush()
        }
    }

    /// Renders a file. Returns the failure; nil if there is none.
    private func update(_ task: RenderTask, _ settings: SettingsSnapshot, after failure: Failure?) async -> Failure? {
        var content: [UInt8]?
        do {
            let rendered = try await renderer.render(task.template, settings)
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
