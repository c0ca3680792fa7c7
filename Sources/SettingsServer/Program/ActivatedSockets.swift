internal import Platform
internal import SettingsWeb

/// Takes over the sockets that a service manager passes to the daemon, with the protocol of systemd's `sd_listen_fds`.
enum ActivatedSockets {
    /// The descriptor of the first socket, which the protocol defines.
    private static let firstDescriptor: Int32 = 3

    /// Returns the sockets. Returns an empty array if the environment names none, or names sockets for a different
    /// process. Throws if the number of sockets is not valid, or if a socket is not a listening stream socket.
    static func listeners(from environment: [String: String], process: Int32) throws(ConfigurationError) -> [Listener] {
        guard environment["LISTEN_PID"] == String(process), let text = environment["LISTEN_FDS"] else { return [] }
        guard let count = Int32(text), (0...1024).contains(count) else {
            throw ConfigurationError("LISTEN_FDS is \(text)", remedy: "it must be the number of sockets, 0 to 1024")
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        var listeners: [Listener] = []
        for position in 0..<Int(count) {
            do throws(SystemError) {
                listeners.append(try Listener(inheriting: firstDescriptor + Int32(position)))
            } catch {
                let name = position < names.count ? " (\(names[position]))" : ""
                throw ConfigurationError(
                    "cannot listen on socket \(position + 1) of the service manager\(name): \(error)",
                    remedy: "in the socket unit, write ListenStream= with a port or a path, and Accept=no")
            }
        }
        return listeners
    }
}
