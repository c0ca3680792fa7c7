// Connects thousands of watchers to a server, and measures their notification. `watch-load` without arguments prints
// the usage.

import Glibc

do throws(LoadFailure) {
    try WatchLoad(LoadPlan(Array(CommandLine.arguments.dropFirst()))).run()
} catch {
    let line = Array("watch-load: \(error.reason)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
