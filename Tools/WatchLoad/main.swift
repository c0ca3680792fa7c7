// Watchers by the thousand, to be measured: `watch-load` without arguments says how to use it.

import Glibc

do throws(LoadFailure) {
    try WatchLoad(LoadPlan(Array(CommandLine.arguments.dropFirst()))).run()
} catch {
    let line = Array("watch-load: \(error.reason)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
