import Glibc
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Which connections are kept, and how long.
@Suite(.ownThread)
struct KeptConnectionsTests {
    private let begin = ContinuousClock.now

    private func socket() throws -> OpenSocket {
        try #require(OpenSocket(family: AF_UNIX))
    }

    @Test("The one used last is taken first, and the oldest goes where there is no room") func oneUsedLastTaken() throws
    {
        var kept = KeptConnections(most: 2, idleLimit: nil)
        let sockets = [try socket(), try socket(), try socket()]
        #expect(kept.give(sockets[0], at: begin) == nil && kept.give(sockets[1], at: begin) == nil)
        #expect(kept.give(sockets[2], at: begin) === sockets[0])
        #expect(kept.take(at: begin).socket === sockets[2])
        #expect(kept.take(at: begin).socket === sockets[1] && kept.take(at: begin).socket == nil)
    }

    @Test("None is kept longer than the limit, and the end is that of the oldest") func noneKeptLongerThan() throws {
        var kept = KeptConnections(most: 8, idleLimit: .seconds(60))
        let (early, late) = (try socket(), try socket())
        #expect(kept.nextEnd == nil)
        _ = kept.give(early, at: begin)
        _ = kept.give(late, at: begin + .seconds(59))
        #expect(kept.nextEnd == begin + .seconds(60))
        #expect(kept.removeOld(at: begin + .milliseconds(59_999)).isEmpty)
        let old = kept.removeOld(at: begin + .seconds(60))
        #expect(old.count == 1 && old.first === early)
        // Not a whole limit later: who came at second 59 would be kept nearly twice as long as said.
        #expect(kept.nextEnd == begin + .seconds(119))
        #expect(kept.removeOld(at: begin + .seconds(119)).first === late)
        #expect(kept.count == 0 && kept.nextEnd == nil)
    }

    @Test("Without a limit none is too old") func withoutLimitNoneToo() throws {
        var kept = KeptConnections(most: 8, idleLimit: nil)
        _ = kept.give(try socket(), at: begin)
        #expect(kept.nextEnd == nil && kept.removeOld(at: begin + .seconds(1_000_000)).isEmpty)
        #expect(kept.removeAll().count == 1 && kept.count == 0)
    }

    @Test("None is handed out that is too old, even if nobody has looked since") func noneHandedOutToo() throws {
        var kept = KeptConnections(most: 8, idleLimit: .seconds(60))
        let sockets = [try socket(), try socket(), try socket()]
        for (number, socket) in sockets.enumerated() { _ = kept.give(socket, at: begin + .seconds(number)) }
        let (taken, old) = kept.take(at: begin + .seconds(61))
        #expect(taken === sockets[2] && old.count == 2 && kept.count == 0)
        _ = kept.give(sockets[0], at: begin)
        let late = kept.take(at: begin + .seconds(60))
        #expect(late.socket == nil && late.old.count == 1 && kept.count == 0)
    }
}
