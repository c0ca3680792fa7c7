package import HTTPServer
package import SettingsCluster
package import SettingsEngine
package import SettingsStorage
package import SettingsWeb

/// The value of every option, initially the default. ``Option/all`` documents the options.
package struct Configuration: Sendable {
    package var listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 7070)]
    /// The file mode of Unix domain sockets.
    package var socketMode: UInt32 = 0o600
    /// The data directory; nil for the default directory (see ``DataLocation``).
    package var data: String?
    /// The folder with the schemas of suites (named sets of settings); nil for none.
    package var schemas: String?
    /// The members of etcd that store the commit log. Without members, the data directory stores it.
    package var etcd = EtcdOptions()
    package var durability = Durability.always
    /// The milliseconds between syncs of the journal to disk with durability `interval`.
    package var syncInterval = 1000
    /// The bytes of new commits after which the daemon writes a snapshot.
    package var snapshotJournalBytes = 64 << 20
    /// The seconds after which the daemon writes a snapshot if there are new commits.
    package var snapshotInterval = 300
    /// The interval in seconds at which the daemon reads its files to detect damage on disk; 0 for never.
    package var scrubInterval = 86_400
    /// The accepted host names of requests (`Host`), in addition to IP addresses and `localhost`.
    package var hosts: [String] = []
    /// The origins of web pages (`Origin`) that may read answers, in addition to the page of the daemon.
    package var origins: [String] = []
    /// True if the daemon serves a web page at `/ui/`, with which people view and change settings.
    package var servesWebPage = true
    package var access = AccessOptions()
    package var proxies = TrustedProxies()
    /// The path of the audit file; nil for none.
    package var auditFile: String?
    /// True if the daemon may listen on network addresses without access control.
    package var isOpenToNetwork = false
    package var history = History.Limits()
    /// The limits of connections and of HTTP messages.
    package var transport = TransportLimits()
    package var watchers = WatcherLimits()
    /// The nanoseconds without a report or a watch after which a client of a suite is gone.
    package var clientForgetTime = ClientRegistry.defaultForgetTime
    /// The maximum request rate of one client (a caller, a Unix user or an address).
    package var rate = RequestRate()
    package var writes = WriteLimits()
    /// The limit of the ``MemoryBudget``: the memory in bytes for request bodies, background work and unsent answers.
    package var bufferBytes = 256 << 20
    /// The number of event loops; nil for half the number of cores.
    package var loops: Int?
    /// The maximum time in seconds for which a stop waits for the requests of open connections.
    package var stopSeconds = 10
    package var logLevel = Log.Level.info
    package var logging = RequestLogging()
    /// The source of each value that is not a default, such as `file /etc/settingsd/settingsd.json`. The keys are the
    /// names of the options.
    var sources: [String: String] = [:]

    package init() {}
}

extension Configuration {
    /// Lowers the limit of connections to the number of available file descriptors, and the limit of watchers (requests
    /// that wait for a change) below the limit of connections. A client beyond the limits then gets an error instead of
    /// waiting for a descriptor, and some connections remain available to clients that are not watchers.
    ///
    /// - Parameter files: the number of descriptors for connections; at least two. It includes the connections that the
    ///   daemon accepts only to send an error (`refusedConnections`).
    /// - Returns: for the log, a description of `limits.connections` and of `limits.watchers`, each only if the method
    ///   has lowered the limit, with the reason.
    package mutating func lowerLimits(toFit files: Int) -> [String] {
        // Connections that only get an error use at most an eighth (`/ 8`) of the descriptors. A lowered limit leaves 5
        // % (`/ 20`) of the connections to other addresses, or to requests that do not wait.
        var changes: [String] = []
        transport.refusedConnections = min(transport.refusedConnections, max(1, files / 8))
        let maximum = max(1, files - transport.refusedConnections)
        if transport.connections > maximum {
            transport.connections = maximum
            changes.append(
                "lowered limits.connections to \(maximum): the limit of open files (LimitNOFILE) allows no more")
            transport.connectionsPerAddress = min(transport.connectionsPerAddress, maximum - maximum / 20)
        }
        if watchers.total >= transport.connections {
            watchers.total = transport.connections - max(1, transport.connections / 20)
            changes.append("lowered limits.watchers to \(watchers.total), so that other requests can connect")
        }
        return changes
    }
}
