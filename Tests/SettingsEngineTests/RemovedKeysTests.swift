import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

/// A tombstone is the record of a removed key, with the revision of the removal. `RemovedKeys` has two groups of
/// tombstones. When the current group is full, the previous group is discarded. At least the last `groupCapacity`
/// tombstones remain, and at most twice as many. `unknownKeyRevision` is the revision of a
/// key without a tombstone.
@Suite(.ownThread)
struct RemovedKeysTests {
    @Test("The newest tombstones are kept, and unknownKeyRevision is at least the revision of each discarded tombstone")
    func random() throws {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for var random in FuzzBudget.generators(roundsFactor: 0.003) {
            let initial = try #require(Revision(Int64(random.below(5))))
            var removed = RemovedKeys(unknownKeyRevision: initial)
            var revisions: [Int: Revision] = [:]
            var order: [Int] = []
            for step in 0..<6_000 {
                let number = random.below(4_000)
                let key = try KeyName("key\(number)")
                if random.chance(oneIn: 5) {
                    removed.remove(key)
                    revisions[number] = nil
                    order.removeAll { $0 == number }
                    #expect(removed.find(key.text.utf8Span.span) == nil)
                    continue
                }
                guard revisions[number] == nil else { continue }
                let revision = try #require(Revision(Int64(10 + step)))
                removed.add(
                    KeyRecord(
                        key: key, stored: nil, valueSource: .unset, revision: revision,
                        modified: Timestamp(milliseconds: 0)))
                revisions[number] = revision
                order.append(number)
            }
            for (number, revision) in revisions {
                let found = removed.find("key\(number)".utf8Span.span)
                if let found {
                    #expect(found.revision == revision, "seed \(random.seed)")
                } else {
                    #expect(removed.unknownKeyRevision >= revision, "seed \(random.seed)")
                }
            }
            for number in order.suffix(RemovedKeys.groupCapacity) {
                #expect(removed.find("key\(number)".utf8Span.span) != nil, "seed \(random.seed), key\(number)")
            }
            let listed = removed.records.map(\.revision)
            #expect(listed == listed.sorted(), "seed \(random.seed)")
            #expect(listed.count <= 2 * RemovedKeys.groupCapacity, "seed \(random.seed)")
        }
    }
}
