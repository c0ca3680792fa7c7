import SettingsAPI
import SettingsHTTP

/// The command `clients`.
enum ClientCommands {
    static let all = [clients]

    private static let clients = Command(
        name: "clients", forms: [[.suite]],
        summary: "List the programs that report which state of a suite they have applied.",
        details: """
            A client is current, behind (it lacks a commit, or has reported no state), failed (it could not apply a
            state), or gone (the daemon has not seen it for the time of the option clients.forgetSeconds). A program
            reports with the parameters client=NAME and applied=CURSOR of the requests with which it watches a suite;
            see docs/guides/roll-out.md.
            """,
        options: ListOutput.options, exclusive: ListOutput.exclusive,
        examples: ["settings clients app", "settings clients app --format tsv --header"]
    ) { arguments in
        let suite = try arguments.suite()
        var output = try ListOutput(arguments, columns: ClientRow.columns, tableColumns: ClientRow.tableColumns)
        let clients = try arguments.client().blocking.send(.clients(of: suite)).clients
        output.print(clients.map { ClientRow(client: $0) })
        if clients.isEmpty, !arguments.has("json"), !arguments.has("format") { print(noClients(of: suite)) }
        return .done
    }

    /// The message for a suite without clients.
    static func noClients(of suite: SuiteName) -> String {
        "no program reports which revision of \(suite) it has applied; 'settings help clients' says how programs report"
    }
}

/// A client in a list.
private struct ClientRow: ListRow {
    let client: ClientDescription

    static let tableColumns = ["name", "status", "applied", "behind", "seen", "from", "caller", "reason"]
    static let columns = [
        "name", "status", "applied", "missingCommits", "secondsBehind", "lastSeen", "from", "caller", "reason",
        "daemon",
    ]

    var cells: [Table.Cell] {
        let style: Terminal.Style? =
            switch client.status {
            case .current, .behind: nil
            case .failed: .bad
            case .gone: .faint
            }
        return [
            Table.Cell(client.name.text, .strong), Table.Cell(client.status.rawValue, style),
            Table.Cell(client.applied.map { "revision \($0.revision)" } ?? ""), Table.Cell(behind),
            Table.Cell(client.lastSeen.short), Table.Cell(sender), Table.Cell(client.caller ?? "", .faint),
            Table.Cell(client.failure?.reason ?? "", style),
        ]
    }

    var fields: [String] {
        [
            client.name.text, client.status.rawValue, client.applied?.description ?? "",
            client.missingCommits.map { "\($0)" } ?? "", client.secondsBehind.map { "\($0)" } ?? "",
            client.lastSeen.description, sender, client.caller ?? "", client.failure?.reason ?? "",
            client.daemon ?? "",
        ]
    }

    func json(showsSecrets: Bool) -> JSONValue { client.jsonValue }

    /// The address of the client, or its Unix user.
    private var sender: String { client.address ?? client.user.map { "user \($0)" } ?? "" }

    private var behind: String {
        guard let count = client.missingCommits, count > 0 else { return "" }
        let time = client.secondsBehind.map { ", \(Duration.seconds($0).short) behind" } ?? ""
        return "\(count) \(count == 1 ? "commit" : "commits")\(time)"
    }
}
