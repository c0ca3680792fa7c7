internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

extension Service {
    private static let nanosecondsPerSecond = 1e9

    /// Renders the answer to `/metrics`.
    ///
    /// - Parameter loops: the sum of the metrics of all event loops.
    func metricsText(_ loops: LoopMetrics, at cursor: Cursor?) -> Response {
        let state = store.state
        var text = MetricsText()
        addRequests(loops, to: &text)
        addWatchersAndLogs(loops, to: &text)
        addStorageAndStatus(to: &text)
        // `peers` are the daemons that share a commit log in etcd; nil if the log is in local files.
        if let peers { addSharedLog(peers.metrics(), to: &text) }
        addState(state, to: &text)
        addPendingActions(of: state, to: &text)
        addClients(on: state, to: &text)
        addProcess(to: &text)
        return Response(
            status: 200, contentType: .prometheus, fields: FieldBlock(cursor: cursor, tag: nil),
            body: Array(text.text.utf8))
    }

    private func addRequests(_ loops: LoopMetrics, to text: inout MetricsText) {
        let answered = "settingsd_requests_total"
        text.beginMetric(answered, type: "counter", "Answered requests by status class.")
        for (index, count) in loops.statuses.enumerated() {
            text.addSample(answered, [("status", "\(index + 1)xx")], "\(count)")
        }
        let refused = "settingsd_refusals_total"
        text.beginMetric(refused, type: "counter", "Requests answered with an error, by error code.")
        for (number, count) in loops.errorAnswers.sorted(by: { $0.key < $1.key }) {
            guard let code = ErrorCode(number: number) else { continue }
            text.addSample(refused, [("code", code.rawValue)], "\(count)")
        }
        let times = "settingsd_request_seconds"
        text.beginMetric(
            times, type: "histogram",
            "Time from reading a request to its answer, except requests that wait for an event such as a commit.")
        let routes = loops.durationsByRoute.map {
            (method: $0.route.method.name, route: $0.route.resource.rawValue, durations: $0.durations)
        }
        for route in routes.sorted(by: { ($0.route, $0.method) < ($1.route, $1.method) }) {
            text.addSamples(
                times, [("method", route.method), ("route", route.route)], of: route.durations,
                dividedBy: Self.nanosecondsPerSecond)
        }
        text.addCounter(
            "settingsd_slow_requests_total", "Requests that took slowRequestMs or longer.", loops.slowRequests)
        text.addCounter(
            "settingsd_slow_iterations_total", "Iterations of an event loop that took longer than 20 milliseconds.",
            loops.slowIterations)
    }

    private func addWatchersAndLogs(_ loops: LoopMetrics, to text: inout MetricsText) {
        text.addGauge("settingsd_watchers", "Requests that wait for a commit, such as long polls.", watchers.total)
        text.addGauge("settingsd_streams", "Open event streams.", loops.streams)
        text.addCounter("settingsd_wakeups_total", "Wake-ups of waiting requests by commits.", loops.wakeUps)
        text.addGauge("settingsd_buffer_bytes", "Memory of the requests and answers in transit.", budget.usedBytes)
        text.addCounter(
            "settingsd_log_dropped_lines_total", "Log lines that standard error did not accept.",
            LineWriter.standardError.droppedLines)
        text.addCounter(
            "settingsd_access_log_dropped_lines_total", "Access log lines that standard output did not accept.",
            accessLog.droppedLines)
        text.addCounter(
            "settingsd_audit_lost_lines_total", "Audit lines that could not be written.", audit?.lostLines ?? 0)
    }

    private func addStorageAndStatus(to text: inout MetricsText) {
        let (writes, disk) = (store.metrics.contents, storage.contents)
        let commits = "settingsd_commit_seconds"
        text.beginMetric(
            commits, type: "histogram",
            "Time from queueing a write until its commit is durable or the write is refused.")
        text.addSamples(commits, [], of: writes.commitTimes, dividedBy: Self.nanosecondsPerSecond)
        let batches = "settingsd_batch_writes"
        text.beginMetric(batches, type: "histogram", "Number of writes in a batch, which become durable together.")
        text.addSamples(batches, [], of: writes.batchSizes, dividedBy: 1)
        let syncs = "settingsd_sync_seconds"
        text.beginMetric(syncs, type: "histogram", "Duration of a sync of the journal.")
        text.addSamples(syncs, [], of: disk.syncTimes, dividedBy: Self.nanosecondsPerSecond)
        text.addCounter("settingsd_failed_syncs_total", "Failed syncs of the journal.", disk.failedSyncs)
        text.addGauge("settingsd_journal_bytes", "Size of the current journal.", disk.journalBytes)
        text.addGauge("settingsd_replay_bytes", "Size of the commits after the newest snapshot.", disk.replayBytes)
        text.addGauge(
            "settingsd_snapshot_bytes", "Size of the newest snapshot; 0 before the first snapshot since the start.",
            disk.snapshotBytes)
        addTime(
            "settingsd_snapshot_timestamp_seconds",
            "Unix time of the newest snapshot since the start, if there is one.", disk.snapshotTime, to: &text)
        text.addCounter(
            "settingsd_failed_snapshots_total", "Snapshots that could not be written.", disk.failedSnapshots)
        text.addGauge("settingsd_past_files", "Past files, which have the commits evicted from memory.", disk.pastFiles)
        text.addGauge("settingsd_past_bytes", "Size of all past files.", disk.pastBytes)
        let oldest = "settingsd_past_oldest_timestamp_seconds"
        text.beginMetric(oldest, type: "gauge", "Unix time of the oldest commit in the past files, if any.")
        if let time = disk.oldestPastTime { text.addSample(oldest, [], "\(time.milliseconds / 1000)") }
        addTime(
            "settingsd_scrub_timestamp_seconds",
            "Unix time of the last check of all files for damage, if there was one.", disk.scrubTime, to: &text)
        text.addGauge(
            "settingsd_scrub_files", "Journals, snapshots and past files that the last check read.", disk.scrubbedFiles)
        text.addGauge("settingsd_scrub_damaged_files", "Files that the last check found damaged.", disk.damagedFiles)
        text.addGauge("settingsd_ready", "1 while the daemon accepts writes, otherwise 0.", obstacle() == nil ? 1 : 0)
        let expiry = "settingsd_token_expiry_timestamp_seconds"
        text.beginMetric(
            expiry, type: "gauge",
            "Unix time at which the next token expires. Tokens that were issued for 7 days or less do not count.")
        let nextExpiry = policyBoard.policies.access?.nextExpiry
        if let nextExpiry { text.addSample(expiry, [], "\(nextExpiry.milliseconds / 1000)") }
        text.addGauge(
            "settingsd_last_reload_successful", "0 if the last configuration reload failed.", lastReloadFailed() ? 0 : 1
        )
    }

    /// Adds the metrics of the commit log in etcd, which several daemons share.
    private func addSharedLog(_ log: LogMetrics.Contents, to text: inout MetricsText) {
        let rounds = "settingsd_etcd_round_seconds"
        text.beginMetric(rounds, type: "histogram", "Duration of an attempt to append a batch to the log in etcd.")
        text.addSamples(rounds, [], of: log.attemptTimes, dividedBy: Self.nanosecondsPerSecond)
        text.addCounter(
            "settingsd_etcd_lost_rounds_total", "Attempts that failed because another daemon was first.",
            log.lostAttempts)
        text.addCounter(
            "settingsd_etcd_unknown_outcomes_total",
            "Batches that etcd may or may not have stored after a failed call.", log.unknownOutcomes)
        text.addCounter(
            "settingsd_etcd_watch_repairs_total", "How often the daemon found batches that the etcd watch had missed.",
            log.watchRepairs)
        text.addCounter(
            "settingsd_etcd_failed_snapshots_total", "Snapshots that could not be stored in etcd.", log.failedSnapshots)
        text.addGauge(
            "settingsd_etcd_silence_seconds", "Time since etcd last confirmed where the log ends.", log.staleness)
    }

    /// Adds a gauge that shows a time of the monotonic clock as Unix time. Adds no sample if the time is nil.
    private func addTime(_ name: String, _ help: String, _ time: UInt64?, to text: inout MetricsText) {
        text.beginMetric(name, type: "gauge", help)
        guard let time else { return }
        let age = Int64(MonotonicClock.system.now() &- time) / 1_000_000_000
        text.addSample(name, [], "\(clock().milliseconds / 1000 - age)")
    }

    private func addState(_ state: State, to text: inout MetricsText) {
        var keys = 0
        state.suites.forEach { suite in
            keys += suite.keyCount
            return true
        }
        text.addGauge("settingsd_revision", "The revision of the last commit.", state.revision)
        text.addGauge("settingsd_suites", "Suites, which are named sets of settings.", state.suites.count)
        text.addGauge("settingsd_keys", "Keys that have a value or are listed by a schema, in all suites.", keys)
        text.addGauge("settingsd_stored_bytes", "Approximate memory of all suites.", state.size)
        text.addGauge("settingsd_quota_bytes", "The value of quotas.totalBytes.", store.limits.quotas.totalBytes)
        text.addGauge("settingsd_history_commits", "Commits in the history in memory.", state.history.count)
        text.addGauge(
            "settingsd_history_bytes", "Approximate memory of the commits in the history.", state.history.size)
    }

    /// Adds the metrics of the pending actions: reverts and scheduled writes.
    private func addPendingActions(of state: State, to text: inout MetricsText) {
        var counts: [PendingAction.Kind: Int] = [:]
        for entry in state.pending.all { counts[entry.action.kind, default: 0] += 1 }
        let actions = "settingsd_pending_actions"
        text.beginMetric(actions, type: "gauge", "Pending reverts (confirm, until) and scheduled writes (effective).")
        for kind in PendingAction.Kind.allCases {
            text.addSample(actions, [("kind", kind.rawValue)], "\(counts[kind] ?? 0)")
        }
        let runnerCounts = pendingCounts()
        text.addCounter(
            "settingsd_pending_carried_out_total", "Pending actions that this daemon has carried out.",
            runnerCounts.carriedOut)
        text.addCounter(
            "settingsd_pending_refused_total", "Scheduled writes that were refused when they were due.",
            runnerCounts.refused)
        text.addCounter(
            "settingsd_pending_failed_attempts_total",
            "Attempts to carry out a pending action that failed, and that the daemon repeats.",
            runnerCounts.failedAttempts)
    }

    /// Adds the metrics of the clients that report which states they have applied.
    private func addClients(on state: State, to text: inout MetricsText) {
        let gauge = "settingsd_clients"
        text.beginMetric(gauge, type: "gauge", "Clients that report to this daemon, by suite and state.")
        for (suite, counts) in clientCounts(on: state) {
            for status in ClientDescription.Status.allCases {
                text.addSample(
                    gauge, [("suite", suite.text), ("state", status.rawValue)], "\(counts[status] ?? 0)")
            }
        }
        let metrics = clients.metrics
        text.addCounter(
            "settingsd_clients_dropped_total", "Clients that were forgotten because there were too many clients.",
            metrics.dropped)
        let times = "settingsd_convergence_seconds"
        text.beginMetric(
            times, type: "histogram",
            "Time from a commit until a percentage of the clients that watch its whole suite had applied it.")
        for (share, histogram) in zip(RolloutTimes.percentages, metrics.rolloutTimes.histograms) {
            text.addSamples(times, [("share", "\(share)")], of: histogram, dividedBy: Self.nanosecondsPerSecond)
        }
    }

    private func addProcess(to text: inout MetricsText) {
        let process = ProcessUsage()
        let build = "settingsd_build_info"
        text.beginMetric(build, type: "gauge", "The version of the daemon, as a label.")
        text.addSample(build, [("version", Self.version)], "1")
        text.addGauge(
            "process_start_time_seconds", "Unix time of the start of the daemon.", started.milliseconds / 1000)
        text.addCounter("process_cpu_seconds_total", "Processor time used by the daemon.", process.processorSeconds)
        text.addGauge("process_resident_memory_bytes", "Resident memory.", process.residentBytes)
        text.addGauge("process_virtual_memory_bytes", "Virtual memory.", process.virtualBytes)
        text.addGauge("process_open_fds", "Open file descriptors.", process.openFileCount)
        text.addGauge("process_max_fds", "Maximum number of open file descriptors.", process.openFileLimit)
    }
}

extension APIHandler {
    /// Collects the metrics of all event loops, then answers the request for `/metrics`.
    func collectMetrics(for id: Ticket, _ caller: Caller?) {
        setWaiting(id, for: .serverOperation)
        let mailboxes = service.policyBoard.mailboxes
        let collector = MetricsCollector(loopCount: mailboxes.count)
        let mailbox = mailbox
        for loopMailbox in mailboxes {
            loopMailbox.runEvenIfStopped { handler in
                handler?.countStreams()
                // `add` returns the sum when the last loop has added its metrics, and nil before.
                guard let metrics = collector.add(handler?.metrics) else { return }
                mailbox.run { handler in
                    // Rendering counts all keys and open files, so it runs in the background. The work belongs to no
                    // client, because metrics must not wait behind the queued work of a busy client.
                    handler.runInBackground(for: id, of: nil) {
                        [service = handler.service, cursor = handler.cursor(for: caller)] _ in
                        let response = service.metricsText(metrics, at: cursor)
                        return { $0.answer(id, response) }
                    }
                }
            }
        }
    }

    private func countStreams() {
        metrics.streams = requests.count { request in
            if case .stream = request { true } else { false }
        }
    }
}
