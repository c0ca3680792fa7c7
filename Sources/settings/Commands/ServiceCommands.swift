import SettingsHTTP

/// The command about the daemon itself: `status`.
enum ServiceCommands {
    static let all = [status]

    private static let status = Command(
        name: "status", forms: [[]],
        summary: "Show the daemon, the present cursor, the caller, and if the daemon accepts writes.",
        options: [Command.json],
        examples: ["settings status", "settings status --server unix:/run/settingsd/socket"]
    ) { arguments in
        let client = try arguments.client()
        let service = try client.blocking.send(.service)
        var rows = [
            ("daemon", "\(service.name) \(service.version) at \(client.address)"),
            ("cursor", service.cursor.description),
        ]
        let caller = try client.blocking.send(.caller)
        let expiration = caller.expires.map { ", until \($0.short)" } ?? ""
        rows.append(("caller", caller.name + expiration))
        rows.append(("may", caller.grants.joined(separator: " ")))
        var code = ExitCode.done
        do throws(SettingsError) {
            try client.blocking.send(.readiness)
            rows.append(("writes", "accepted"))
        } catch {
            rows.append(("writes", "refused: \(error.problem?.detail ?? error.description)"))
            code = .unreachable
        }
        guard !arguments.has("json") else {
            print(
                JSONValue.members([
                    "version": .string(service.version), "address": .string("\(client.address)"),
                    "cursor": .string(service.cursor.description), "caller": .string(caller.name),
                    "expires": caller.expires.map { .string($0.description) },
                    "grants": .array(caller.grants.map { .string($0) }), "takesWrites": .bool(code == .done),
                ]).text())
            return code
        }
        var table = Table(columns: 2)
        table.print(rows.map { [Table.Cell($0, .faint), Table.Cell($1)] })
        return code
    }
}
