import Foundation
import TestSupport
import Testing

/// Tests of `settings render --to` when the program is killed.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1.
@Suite(.ownThread)
struct RenderCrashTests {
    @Test
    func `After a kill at any time, the file is the old or the new file, and the next run removes leftover files`()
        throws
    {
        let shell = try Shell(["settings set app theme=dark --quiet"])
        let body = String(repeating: "0123456789abcde\n", count: 60_000)
        let files = ["a", "b"].map { "\($0) {{ app.theme }}\n\(body)" }
        _ = try shell.directory.file("t0", files[0])
        _ = try shell.directory.file("t1", files[1])
        let contents = files.map { $0.replacing("{{ app.theme }}", with: "dark") }
        // The check and the reload always succeed. They read the whole file, so that a kill can occur meanwhile.
        let options = "--to out --check 'cat {} >/dev/null' --reload 'cat out >/dev/null'"
        let start = ContinuousClock.now
        #expect(try shell.run("settings render t0 \(options)").code == 0)
        let duration = (ContinuousClock.now - start) / Duration.milliseconds(1)
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var killCount = 0
        for round in 1...40 {
            let render = try shell.start("exec settings render t\(round % 2) \(options)")
            // The kill comes at a random time within the duration of a run, because a later kill would have no effect.
            poll(nil, 0, Int32.random(in: 0...Int32(duration), using: &generator))
            render.signal(SIGKILL)
            if try render.end().code == -SIGKILL { killCount += 1 }
            let found = shell.text("out")
            #expect(contents.contains(found), "seed \(seed), round \(round): \(found.utf8.count) bytes")
        }
        #expect(killCount > 0)
        let end = try shell.run("settings render t1 \(options); settings render t0 \(options); ls -A | grep settings-")
        #expect(shell.text("out") == contents[0] && !end.output.contains("settings-"), "\(end)")
    }
}
