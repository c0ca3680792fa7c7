package import Dispatch
package import SettingsModel

/// What the handlers of all loops share.
package struct Service: Sendable {
    /// The name of the program.
    package static let name = "settingsd"
    /// The version of the program.
    package static let version = "0.3.0"

    let store: Store
    let hosts: HostPolicy
    let metrics: ServiceMetrics
    let watchers: WatcherCount
    /// Why writes would not be taken now; nil if they would.
    let obstacle: @Sendable () -> Problem?
    /// Where long answers are made.
    let longAnswers = LongAnswers()
    /// Where large bodies are read.
    let largeBodies: LargeBodies

    /// - Parameters:
    ///   - waitingBytes: how much of large bodies may wait to be read.
    ///   - reader: the queue that reads them.
    package init(
        store: Store, hosts: HostPolicy, metrics: ServiceMetrics, watchers limits: WatcherLimits = WatcherLimits(),
        waitingBytes: Int, reader: DispatchQueue = DispatchQueue(label: "settingsd.reader", qos: .utility),
        obstacle: @escaping @Sendable () -> Problem?
    ) {
        watchers = WatcherCount(limits)
        self.store = store
        self.hosts = hosts
        self.metrics = metrics
        self.obstacle = obstacle
        largeBodies = LargeBodies(limit: waitingBytes, queue: reader)
    }
}
