package import SettingsModel

/// A failure that a client has reported: the state that it could not apply, and the reason.
package struct ClientFailure: Equatable, Sendable, JSONBody {
    package var cursor: Cursor
    package var reason: String?

    package init(cursor: Cursor, reason: String?) {
        (self.cursor, self.reason) = (cursor, reason)
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(cursor: try reader.required("cursor"), reason: try reader.optional("reason"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("cursor", cursor)
        writer.member("reason", reason)
    }
}

/// A client in the answer to `GET /v1/suites/{suite}/clients`. A commit concerns a client if it changes keys that the
/// client watches and may read, or the schema.
package struct ClientDescription: Equatable, Sendable {
    package enum Status: String, BodyWord, CaseIterable {
        /// The client has applied every commit that concerns it.
        case current
        /// The client has not applied a commit that concerns it, or ``ClientDescription/missingCommits`` is nil.
        case behind
        /// The client has reported that it could not apply a state.
        case failed
        /// The daemon has not seen the client for the number of seconds in the option `clients.forgetSeconds`.
        case gone
    }

    package var name: ClientName
    package var status: Status
    /// The IP address; nil for a client on a Unix domain socket.
    package var address: String?
    /// The user of a client on a Unix domain socket.
    package var user: String?
    /// The caller according to the credential; nil without access control.
    package var caller: String?
    /// The time of the first report.
    package var since: Timestamp
    /// The time of the last report, or the time at which the last watch ended. The present time while a watch waits.
    package var lastSeen: Timestamp
    /// The newest state that the client has applied; nil if it has reported no state of the present epoch.
    package var applied: Cursor?
    /// The number of commits that concern the client and that the client has not applied. Nil if the number is not
    /// known: `applied` is nil, the history no longer has all of the commits, or counting took too long.
    package var missingCommits: Int64?
    /// The time since the first of the missing commits, in seconds; nil if `missingCommits` is nil or 0.
    package var secondsBehind: Int64?
    package var failure: ClientFailure?
    /// The identifier of the daemon that the client reports to; nil for the daemon that answers.
    package var daemon: String?

    package init(name: ClientName, status: Status, since: Timestamp, lastSeen: Timestamp) {
        (self.name, self.status, self.since, self.lastSeen) = (name, status, since, lastSeen)
    }
}

extension ClientDescription: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            name: try reader.required("name"), status: try reader.required("status"),
            since: try reader.required("since"), lastSeen: try reader.required("lastSeen"))
        address = try reader.optional("address")
        user = try reader.optional("user")
        caller = try reader.optional("caller")
        applied = try reader.optional("applied")
        missingCommits = try reader.optional("missingCommits")
        secondsBehind = try reader.optional("secondsBehind")
        failure = try reader.optional("failure")
        daemon = try reader.optional("daemon")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("status", status.rawValue)
        writer.member("address", address)
        writer.member("user", user)
        writer.member("caller", caller)
        writer.member("since", since)
        writer.member("lastSeen", lastSeen)
        writer.member("applied", applied)
        writer.member("missingCommits", missingCommits)
        writer.member("secondsBehind", secondsBehind)
        writer.member("failure", failure)
        writer.member("daemon", daemon)
    }
}

/// Another daemon with the same history, and the age of its data about its clients.
package struct ClientSource: Equatable, Sendable, JSONBody {
    package var daemon: String
    package var ageMilliseconds: Int64

    package init(daemon: String, ageMilliseconds: Int64) {
        (self.daemon, self.ageMilliseconds) = (daemon, ageMilliseconds)
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(daemon: try reader.required("daemon"), ageMilliseconds: try reader.required("ageMs"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("daemon", daemon)
        writer.member("ageMs", ageMilliseconds)
    }
}

/// The clients of a suite, sorted by name.
package struct ClientListing: Equatable, Sendable {
    package var suite: SuiteName
    /// The cursor of the state with which the clients are compared.
    package var cursor: Cursor
    package var clients: [ClientDescription]
    /// The other daemons whose clients are listed. Empty unless several daemons share a history.
    package var sources: [ClientSource] = []

    package init(suite: SuiteName, cursor: Cursor, clients: [ClientDescription]) {
        (self.suite, self.cursor, self.clients) = (suite, cursor, clients)
    }
}

extension ClientListing: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.required("suite"), cursor: try reader.required("cursor"),
            clients: try reader.required("clients"))
        sources = try reader.list("sources")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("cursor", cursor)
        writer.member("clients", clients)
        writer.member("sources", unlessEmpty: sources)
    }
}

/// How many clients of a suite have applied a state. The present clients are all clients whose status is not `gone`.
package struct Convergence: Equatable, Sendable {
    /// A client that could not apply the state.
    package struct Failure: Equatable, Sendable, JSONBody {
        package var name: ClientName
        package var reason: String?

        package init(name: ClientName, reason: String?) {
            (self.name, self.reason) = (name, reason)
        }

        package init(_ reader: ObjectReader) throws(BodyError) {
            self.init(name: try reader.required("name"), reason: try reader.optional("reason"))
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.member("name", name)
            writer.member("reason", reason)
        }
    }

    /// The maximum number of names in ``missing``, and of failures in ``failures``.
    package static let maximumNames = 100

    package var suite: SuiteName
    /// The state that the clients must apply.
    package var target: Cursor
    /// True if the requested share of the present clients has applied the target.
    package var isConverged: Bool
    /// The number of present clients.
    package var present: Int64
    /// The number of present clients that have applied the target.
    package var applied: Int64
    /// The number of present clients that could not apply the target.
    package var failed: Int64
    /// The present clients that have neither applied the target nor failed: the first ``maximumNames``, sorted by name.
    package var missing: [ClientName] = []
    /// The present clients that have failed: the first ``maximumNames``, sorted by name.
    package var failures: [Failure] = []
    /// The other daemons whose clients are counted. Empty unless several daemons share a history.
    package var sources: [ClientSource] = []

    package init(
        suite: SuiteName, target: Cursor, isConverged: Bool, present: Int64, applied: Int64, failed: Int64
    ) {
        (self.suite, self.target, self.isConverged) = (suite, target, isConverged)
        (self.present, self.applied, self.failed) = (present, applied, failed)
    }
}

extension Convergence: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.required("suite"), target: try reader.required("for"),
            isConverged: try reader.required("converged"), present: try reader.required("present"),
            applied: try reader.required("applied"), failed: try reader.required("failed"))
        missing = try reader.list("missing")
        failures = try reader.list("failures")
        sources = try reader.list("sources")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("for", target)
        writer.member("converged", isConverged)
        writer.member("present", present)
        writer.member("applied", applied)
        writer.member("failed", failed)
        writer.member("missing", missing)
        writer.member("failures", unlessEmpty: failures)
        writer.member("sources", unlessEmpty: sources)
    }
}
