// What the Swift client costs: `client-cost` without arguments says what it measures.

import Glibc
import SettingsClient

do {
    try Command(Array(CommandLine.arguments.dropFirst())).run()
} catch {
    let line = Array("client-cost: \(error)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
