internal import HTTPServer
internal import SettingsStorage

extension Log {
    func record(_ event: TransportEvent) {
        switch event {
        case .acceptPaused(let error):
            warning(
                "cannot accept connections at present: \(error); raise the limit of open files if this happens often")
        case .acceptResumed: info("the daemon accepts connections again")
        }
    }
}
