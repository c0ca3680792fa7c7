package import HTTPServer
package import SettingsCluster
package import SettingsEngine
package import SettingsStorage
package import SettingsWeb

/// The configuration of the daemon: every option with its default. `Option.all` says what each means.
package struct Configuration: Sendable {
    package var listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 7070)]
    package var socketMode: UInt32 = 0o600
    /// The data directory; nil for the usual one of the user who runs the daemon.
    package var data: String?
    /// The folder of schemas that are put in force; nil for none.
    package var schemas: String?
    /// The members of etcd that keep the log; without any it is kept in the data directory.
    package var etcd = EtcdOptions()
    package var durability = Durability.always
    /// In milliseconds.
    package var syncInterval = 1000
    package var snapshotJournalBytes = 64 << 20
    /// In seconds.
    package var snapshotInterval = 300
    /// In seconds; 0 for never.
    package var scrubInterval = 86_400
    package var hosts: [String] = []
    package var origins: [String] = []
    /// True if the page for people is served.
    package var servesPage = true
    package var access = AccessOptions()
    package var proxies = TrustedProxies()
    /// The path of the audit file; nil for none.
    package var auditFile: String?
    /// True if it may listen to the network without access control.
    package var isOpenToNetwork = false
    package var history = History.Limits()
    package var transport = TransportLimits()
    package var watchers = WatcherLimits()
    package var rate = RequestRate()
    package var writes = WriteLimits()
    /// The memory for all requests and answers that are on their way.
    package var bufferBytes = 256 << 20
    /// Event loops; nil for one for every other core.
    package var loops: Int?
    /// How long a clean stop may take, in seconds.
    package var stopBound = 10
    package var logLevel = Log.Level.info
    package var logging = RequestLogging()
    /// Where the values are from that are no defaults, by the names of their options.
    var sources: [String: String] = [:]

    package init() {}
}

extension Configuration {
    /// Lowers limits to the room that there is. Clients beyond them then get a refusal instead of waiting for a
    /// descriptor, and clients that wait for no change can always connect.
    ///
    /// - Parameter files: how many files may be open for connections, refused ones included; at least two.
    /// - Returns: what was lowered and why, for the log.
    package mutating func fit(into files: Int) -> [String] {
        var lowered: [String] = []
        transport.refusedConnections = min(transport.refusedConnections, max(1, files / 8))
        let most = max(1, files - transport.refusedConnections)
        if transport.connections > most {
            transport.connections = most
            lowered.append("at most \(most) connections: the system allows no more open files (LimitNOFILE)")
            transport.connectionsPerAddress = min(transport.connectionsPerAddress, most - most / 20)
        }
        if watchers.total >= transport.connections {
            watchers.total = transport.connections - max(1, transport.connections / 20)
            lowered.append("at most \(watchers.total) watchers, to leave connections for others")
        }
        return lowered
    }
}
