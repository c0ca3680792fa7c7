internal import HTTPServer
internal import SettingsStorage

extension Log {
    /// Adds an event of the HTTP server.
    func add(_ event: TransportEvent) {
        switch event {
        case .acceptPaused(let error):
            warning("no more connections for now: \(error); raise the limit of open files if this happens often")
        case .acceptResumed: info("connections are taken again")
        }
    }
}
