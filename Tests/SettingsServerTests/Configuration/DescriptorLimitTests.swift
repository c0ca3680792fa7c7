import HTTPServer
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

@Suite(.ownThread)
struct DescriptorLimitTests {
    /// `files` is the number of descriptors. At most 256 descriptors, and at most an eighth, but at least one, are for
    /// connections that get only an error. The limit of connections is lowered to the number of remaining descriptors.
    /// A limit of watchers that is not below the limit of connections is lowered to 95 % of the limit of connections.
    @Test(
        "Limits are lowered to the available descriptors, and watchers leave connections to other requests",
        arguments: [
            (
                files: 30_000, connections: 20_000, watchers: 19_000, expectedConnections: 20_000,
                expectedWatchers: 19_000, messageCount: 0
            ),
            (4032, 20_000, 19_000, 3776, 3588, 2),
            (4032, 20_000, 1000, 3776, 1000, 1),
            (30_000, 100, 19_000, 100, 95, 1),
            (30_000, 100, 100, 100, 95, 1),
            (30_000, 100, 99, 100, 99, 0),
            (30_000, 10, 10, 10, 9, 1),
            (80, 20_000, 19_000, 70, 67, 2),
            (2, 20_000, 19_000, 1, 0, 2),
        ])
    func fit(
        files: Int, connections: Int, watchers: Int, expectedConnections: Int, expectedWatchers: Int, messageCount: Int
    ) {
        var configuration = Configuration()
        configuration.transport.connections = connections
        configuration.watchers.total = watchers
        #expect(configuration.lowerLimits(toFit: files).count == messageCount)
        #expect(configuration.transport.connections == expectedConnections)
        #expect(configuration.watchers.total == expectedWatchers)
        // If the limit of connections is lowered, one address must not be able to use all connections that remain. The
        // default of `connectionsPerAddress` is 19,000.
        let lowered = expectedConnections < connections ? expectedConnections - expectedConnections / 20 : .max
        #expect(configuration.transport.connectionsPerAddress == min(19_000, lowered))
        #expect(configuration.transport.connections + configuration.transport.refusedConnections <= files)
    }
}
