internal import Platform
internal import SettingsWeb

/// The sockets that a service manager made for the daemon, by the protocol of systemd's `sd_listen_fds`.
enum ActivatedSockets {
    /// The descriptor of the first one.
    private static let first: Int32 = 3

    /// Takes over the sockets, each of which must be one that listens; none if they are meant for another process.
    static func take(_ environment: [String: String], process: Int32) throws(ConfigurationError) -> [Listener] {
        guard environment["LISTEN_PID"] == String(process), let text = environment["LISTEN_FDS"] else { return [] }
        guard let count = Int32(text), (0...1024).contains(count) else {
            throw ConfigurationError("LISTEN_FDS is \(text)", remedy: "it must be a number of sockets")
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        var listeners: [Listener] = []
        for position in 0..<Int(count) {
            do throws(SystemError) {
                listeners.append(try Listener(inheriting: first + Int32(position)))
            } catch {
                let name = position < names.count ? " (\(names[position]))" : ""
                throw ConfigurationError(
                    "cannot listen on socket \(position + 1) of the service manager\(name): \(error)",
                    remedy: "in the socket unit write ListenStream= with a port or a path, and Accept=no")
            }
        }
        return listeners
    }
}
