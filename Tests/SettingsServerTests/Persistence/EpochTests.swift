import SettingsAPI
import SettingsEngine
import SettingsStorage
import TestSupport
import Testing

@Suite(.ownThread)
struct EpochTests {
    /// How a daemon ran and ended, and whether the next start must begin an epoch.
    struct Case: CustomTestStringConvertible, Sendable {
        /// The durability of the first daemon.
        var before: Durability
        /// True for a clean stop, false for a kill.
        var isStopped: Bool
        /// The durability of the next start.
        var after: Durability
        var beginsEpoch: Bool

        var testDescription: String {
            "\(before.rawValue), \(isStopped ? "stopped" : "killed"), then \(after.rawValue)"
        }
    }

    static let cases: [Case] = Durability.allCases.flatMap { before in
        [true, false].flatMap { isStopped in
            Durability.allCases.map { after in
                Case(
                    before: before, isStopped: isStopped, after: after,
                    beginsEpoch: before != .always && !isStopped)
            }
        }
    }

    @Test(
        "A start begins an epoch if the last run may have lost commits, whatever durability the start has",
        arguments: cases)
    func starts(_ ending: Case) throws {
        let folder = DataFolder()
        // The first daemon makes 12 commits and snapshots at revisions 4 and 8.
        let lastState = try #require(try folder.fill(ending.before, stopsCleanly: ending.isStopped)[12])
        do {
            let (recovered, _) = try folder.open(ending.after)
            #expect(recovered.beganEpoch == ending.beginsEpoch)
            if ending.beginsEpoch {
                #expect(recovered.state.epoch != lastState.epoch)
                // A new epoch skips `epochRevisionGap` revisions. With durability `snapshot`, the four commits after
                // the last snapshot are lost.
                #expect(recovered.state.revision.number >= lastState.revision.number - 4 + Recovery.epochRevisionGap)
            } else {
                #expect(StateDescription(recovered.state) == StateDescription(lastState))
            }
        }
        // The log of the second start was released without a clean stop, as after a kill.
        let (nextRecovery, _) = try folder.open(.always)
        #expect(nextRecovery.beganEpoch == (ending.after != .always))
    }
}
