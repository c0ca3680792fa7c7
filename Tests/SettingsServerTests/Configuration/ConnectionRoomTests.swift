import SettingsServer
import Testing

@Suite("Room for connections")
struct ConnectionRoomTests {
    @Test(
        "Limits are lowered to what there is room for, and some connections are left to those who do not wait",
        arguments: [
            (files: 30_000, connections: 20_000, watchers: 19_000, most: 20_000, mayWait: 19_000, told: 0),
            (4032, 20_000, 19_000, 4032, 3831, 2),
            (4032, 20_000, 1000, 4032, 1000, 1),
            (30_000, 100, 19_000, 100, 95, 1),
            (30_000, 100, 100, 100, 95, 1),
            (30_000, 100, 99, 100, 99, 0),
            (30_000, 10, 10, 10, 9, 1),
            (0, 20_000, 19_000, 1, 0, 2),
        ])
    func fit(files: Int, connections: Int, watchers: Int, most: Int, mayWait: Int, told: Int) {
        var configuration = Configuration()
        configuration.transport.connections = connections
        configuration.watchers.total = watchers
        #expect(configuration.fit(into: files).count == told)
        #expect(configuration.transport.connections == most)
        #expect(configuration.watchers.total == mayWait)
    }
}
