extension Configuration {
    /// Lowers limits to what there is room for: so that peers beyond are refused with a reason instead of waiting for a
    /// descriptor, and that a caller that waits for nothing can always connect.
    ///
    /// - Parameter files: how many files may be open for connections, those that are refused included; at least two.
    /// - Returns: what was lowered and why, for the log.
    package mutating func fit(into files: Int) -> [String] {
        var lowered: [String] = []
        transport.refusedConnections = min(transport.refusedConnections, max(1, files / 8))
        let most = max(1, files - transport.refusedConnections)
        if transport.connections > most {
            transport.connections = most
            lowered.append("at most \(most) connections: the system allows no more open files (LimitNOFILE)")
        }
        if watchers.total >= transport.connections {
            watchers.total = transport.connections - max(1, transport.connections / 20)
            lowered.append("at most \(watchers.total) watchers, to leave connections for others")
        }
        return lowered
    }
}
