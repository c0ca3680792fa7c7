internal import Glibc

/// The daemon in its own process, on a port that the kernel chooses.
package struct DaemonProcess {
    package let process: ChildProcess
    /// The port on 127.0.0.1.
    package let port: UInt16

    /// Starts the daemon with a data directory and waits until it listens.
    package init(data: String, options: [String] = []) throws {
        process = try ChildProcess(["--listen", "127.0.0.1:0", "--data", data] + options)
        let line = try process.line(containing: "listening on http://127.0.0.1:")
        guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw ChildProcess.Failure(description: "no port in: \(line)")
        }
        self.port = port
    }

    /// Kills the daemon and waits for its exit.
    package func killAtOnce() throws {
        process.signal(SIGKILL)
        let end = try process.end()
        guard end.code == -SIGKILL else {
            throw ChildProcess.Failure(description: "the daemon exited before the kill: \(end.errors)")
        }
    }

    /// Stops the daemon with SIGTERM and waits for its exit.
    package func stop() throws {
        process.signal(SIGTERM)
        let end = try process.end()
        guard end.code == 0 else {
            throw ChildProcess.Failure(description: "the daemon exited with \(end.code): \(end.errors)")
        }
    }
}
