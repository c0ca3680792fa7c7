internal import Glibc

/// The daemon as a process of its own, as an operator starts it, on a port that the kernel chooses.
package struct DaemonProcess {
    package let process: ChildProcess
    /// On 127.0.0.1.
    package let port: UInt16

    /// Starts it on a data directory, and waits until it listens.
    package init(data: String, options: [String] = []) throws {
        process = try ChildProcess(["--listen", "127.0.0.1:0", "--data", data] + options)
        let line = try process.line(containing: "listening on http://127.0.0.1:")
        guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw ChildProcess.Failure(description: "no port in: \(line)")
        }
        self.port = port
    }

    /// Ends it without any warning, and waits until it is gone.
    package func killAtOnce() throws {
        process.signal(SIGKILL)
        let end = try process.end()
        guard end.code == -SIGKILL else {
            throw ChildProcess.Failure(description: "the daemon had ended by itself; it said: \(end.errors)")
        }
    }

    /// Asks it to stop, and waits until it has.
    package func stop() throws {
        process.signal(SIGTERM)
        let end = try process.end()
        guard end.code == 0 else {
            throw ChildProcess.Failure(description: "it stopped with \(end.code); it said: \(end.errors)")
        }
    }
}
