internal import Dispatch
package import Platform
package import SettingsAPI
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// A record of the last use of each token, in a file of the data directory that `settingsd token list --json` reads.
///
/// For each request with a token, an event loop only sets the mark `Caller.wasUsed`. Every ``interval`` seconds, at a
/// reload and at a stop, ``collect(from:keepingTokensOf:)`` clears the marks and stores the current time, which is
/// therefore up to ``interval`` seconds after the use. A crash loses the marks since the last collection. Thread-safe.
package final class TokenUsage: Sendable {
    /// Seconds between two collections.
    package static let interval = 300

    private let directory: DataDirectory
    private let log: Log
    private let queue = DispatchQueue(label: "settingsd.token-usage", qos: .utility)
    private let times: Mutex<[SHA256: Timestamp]>

    package init(in directory: DataDirectory, log: Log) {
        (self.directory, self.log) = (directory, log)
        times = Mutex(Self.read(directory))
    }

    /// Returns a dictionary from the digest of a token to the time of its last recorded use.
    package static func read(_ directory: DataDirectory) -> [SHA256: Timestamp] {
        let file = try? OpenFile(directory.path(of: DataDirectory.tokenUseName), .reading, in: directory.fileSystem)
        guard let bytes = try? file?.readAll(), let members = (try? JSONValue(parsing: bytes))?["lastUsed"]?.object
        else { return [:] }
        var times: [SHA256: Timestamp] = [:]
        for member in members {
            if let digest = SHA256(hex: member.name) { times[digest] = member.value.string.flatMap { Timestamp($0) } }
        }
        return times
    }

    /// Collects the marks of a policy, and writes the file if a token was used. Waits for the disk.
    ///
    /// - Parameters:
    ///   - policy: the policy whose marks are collected; at a reload, the policy before the reload.
    ///   - current: the policy in force, whose tokens remain in the file; nil if `policy` is still in force.
    package func collect(from policy: AccessPolicy?, keepingTokensOf current: AccessPolicy? = nil) {
        queue.sync {
            guard let policy, case let used = policy.removeUsedTokens(), !used.isEmpty else { return }
            let now = Timestamp.now()
            let times = times.withLock { times in
                for digest in used { times[digest] = now }
                times = times.filter { (current ?? policy).hasToken($0.key) }
                return times
            }
            var lastUsed = JSONObject()
            for (digest, time) in times { lastUsed[digest.hex] = .string(time.description) }
            let document: JSONObject = ["lastUsed": .object(lastUsed)]
            do throws(FileError) {
                _ = try directory.writeTemporary(DataDirectory.tokenUseName, JSONValue.object(document).bytes())
                try directory.renameTemporary(DataDirectory.tokenUseName)
            } catch {
                log.warning(
                    "cannot write the last use of tokens: \(error); settingsd token list --json shows earlier times "
                        + "until a write succeeds")
            }
        }
    }
}
