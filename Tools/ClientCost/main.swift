// Measures the time and memory that the Swift client costs its program. `client-cost` without arguments prints the
// usage.

import Glibc
import SettingsClient

do {
    try Command(Array(CommandLine.arguments.dropFirst())).run()
} catch {
    let line = Array("client-cost: \(error)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
