internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

extension Service {
    private static let nanoseconds = 1e9

    /// Returns the answer to `/metrics`. `loops` is the sum of the figures of all event loops.
    func metricsText(_ loops: LoopFigures, at cursor: Cursor?) -> Response {
        let state = store.state
        var text = MetricsText()
        addRequests(loops, to: &text)
        addWaiting(loops, to: &text)
        addStorage(to: &text)
        if let peers { addLog(peers.figures(), to: &text) }
        addState(state, to: &text)
        addProcess(to: &text)
        return Response(
            status: 200, contentType: .prometheus, fields: FieldBlock(cursor: cursor, tag: nil),
            body: Array(text.text.utf8))
    }

    private func addRequests(_ loops: LoopFigures, to text: inout MetricsText) {
        let answered = "settingsd_requests_total"
        text.begin(answered, "counter", "Requests answered, by the class of their status.")
        for (index, count) in loops.statuses.enumerated() {
            text.add(answered, [("status", "\(index + 1)xx")], "\(count)")
        }
        let refused = "settingsd_refusals_total"
        text.begin(refused, "counter", "Requests refused, by the code of the error.")
        for (number, count) in loops.refusals.sorted(by: { $0.key < $1.key }) {
            guard let code = ErrorCode(number: number) else { continue }
            text.add(refused, [("code", code.rawValue)], "\(count)")
        }
        let times = "settingsd_request_seconds"
        text.begin(
            times, "histogram", "Time from when a request was read to its answer, but for those that wait for a change."
        )
        let routes = loops.timesByRoute.map {
            (method: $0.route.method.name, route: $0.route.resource.rawValue, times: $0.times)
        }
        for route in routes.sorted(by: { ($0.route, $0.method) < ($1.route, $1.method) }) {
            text.add(times, [("method", route.method), ("route", route.route)], route.times, unit: Self.nanoseconds)
        }
        text.counter(
            "settingsd_slow_requests_total", "Requests that took as long as slowRequestMs or longer.",
            loops.slowRequests)
        text.counter(
            "settingsd_slow_batches_total", "Batches of events that took an event loop over 20 milliseconds.",
            loops.slowBatches)
    }

    private func addWaiting(_ loops: LoopFigures, to text: inout MetricsText) {
        text.gauge("settingsd_watchers", "Requests that wait for something to happen.", watchers.total)
        text.gauge("settingsd_streams", "Those of them that are streams of events.", loops.streams)
        text.counter("settingsd_wakeups_total", "Watchers that commits have woken.", loops.wakeUps)
        text.gauge("settingsd_buffer_bytes", "Bytes of requests and answers that are on their way.", budget.usedBytes)
        text.counter(
            "settingsd_log_dropped_lines_total", "Lines of the log that standard error did not accept.",
            LineWriter.standardError.droppedLines)
        text.counter(
            "settingsd_access_log_dropped_lines_total", "Lines of the access log that standard output did not accept.",
            accessLog.droppedLines)
        text.counter(
            "settingsd_audit_lost_lines_total", "Lines of the audit file that could not be written.",
            audit?.lostLines ?? 0)
    }

    private func addStorage(to text: inout MetricsText) {
        let (writes, disk) = (store.figures.contents, storage.contents)
        let commits = "settingsd_commit_seconds"
        text.begin(commits, "histogram", "Time from queueing a write until it is durable.")
        text.add(commits, [], writes.commits, unit: Self.nanoseconds)
        let batches = "settingsd_batch_writes"
        text.begin(batches, "histogram", "Writes that were made durable together.")
        text.add(batches, [], writes.batches, unit: 1)
        let syncs = "settingsd_sync_seconds"
        text.begin(syncs, "histogram", "Time of a sync of the journal.")
        text.add(syncs, [], disk.syncs, unit: Self.nanoseconds)
        text.counter("settingsd_failed_syncs_total", "Syncs of the journal that failed.", disk.failedSyncs)
        text.gauge("settingsd_journal_bytes", "Size of the journal.", disk.journalBytes)
        text.gauge("settingsd_replay_bytes", "Bytes of commits behind the newest snapshot.", disk.replayBytes)
        text.gauge(
            "settingsd_snapshot_bytes", "Size of the newest snapshot; 0 if none was written since the start.",
            disk.snapshotBytes)
        addTime(
            "settingsd_snapshot_timestamp_seconds", "When the newest snapshot was written, if one was since the start.",
            disk.snapshotTime, to: &text)
        text.counter("settingsd_failed_snapshots_total", "Snapshots that could not be written.", disk.failedSnapshots)
        text.gauge("settingsd_past_files", "Files of commits that memory has no room for.", disk.pastFiles)
        text.gauge("settingsd_past_bytes", "Size of these files.", disk.pastBytes)
        let oldest = "settingsd_past_oldest_timestamp_seconds"
        text.begin(oldest, "gauge", "When the oldest commit in these files was made, if there are any.")
        if let time = disk.oldestPast { text.add(oldest, [], "\(time.milliseconds / 1000)") }
        addTime(
            "settingsd_scrub_timestamp_seconds", "When the files were last read to check them, if since the start.",
            disk.scrubTime, to: &text)
        text.gauge(
            "settingsd_scrub_files", "Journals, snapshots and past files that were read then.", disk.scrubbedFiles)
        text.gauge(
            "settingsd_scrub_damaged_files", "Those of them that are not as they were written.", disk.damagedFiles)
        text.gauge("settingsd_ready", "1 while writes are taken.", obstacle() == nil ? 1 : 0)
        let expiry = "settingsd_token_expiry_timestamp_seconds"
        text.begin(
            expiry, "gauge",
            "Unix time at which the next token expires. Tokens with a lifetime of 7 days or less do not count.")
        if let time = policies.policies.access?.nextExpiry { text.add(expiry, [], "\(time.milliseconds / 1000)") }
        text.gauge("settingsd_last_reload_successful", "0 if the last reload failed.", lastReloadFailed() ? 0 : 1)
    }

    /// Adds the metrics of the commit log in etcd.
    private func addLog(_ log: LogFigures.Contents, to text: inout MetricsText) {
        let rounds = "settingsd_etcd_round_seconds"
        text.begin(rounds, "histogram", "Time of an attempt to put a batch of writes into etcd.")
        text.add(rounds, [], log.rounds, unit: Self.nanoseconds)
        text.counter(
            "settingsd_etcd_lost_rounds_total", "Attempts that another daemon was faster than.", log.lostRounds)
        text.counter(
            "settingsd_etcd_unknown_outcomes_total", "Batches whose outcome was not known in time.",
            log.unknownOutcomes)
        text.counter(
            "settingsd_etcd_watch_repairs_total", "Batches that the watch of etcd should have brought, and did not.",
            log.watchRepairs)
        text.counter(
            "settingsd_etcd_failed_snapshots_total", "Snapshots that could not be put into etcd.", log.failedSnapshots)
        text.gauge(
            "settingsd_etcd_silence_seconds", "Time since the end of the log was last heard of.", log.silence)
    }

    /// Adds a gauge that shows a time of the monotonic clock as Unix time. Adds no sample if the time is nil.
    private func addTime(_ name: String, _ help: String, _ time: UInt64?, to text: inout MetricsText) {
        text.begin(name, "gauge", help)
        guard let time else { return }
        let age = Int64(MonotonicClock.system.now() &- time) / 1_000_000_000
        text.add(name, [], "\(clock().milliseconds / 1000 - age)")
    }

    private func addState(_ state: State, to text: inout MetricsText) {
        var keys = 0
        state.suites.forEach { suite in
            keys += suite.keyCount
            return true
        }
        text.gauge("settingsd_revision", "The revision of the last commit.", state.revision)
        text.gauge("settingsd_suites", "Suites.", state.suites.count)
        text.gauge("settingsd_keys", "Keys with a value or listed by a schema, in all suites.", keys)
        text.gauge("settingsd_stored_bytes", "Bytes of memory that all suites take, about.", state.size)
        text.gauge("settingsd_quota_bytes", "What quotas.totalBytes allows.", store.limits.quotas.totalBytes)
        text.gauge("settingsd_history_commits", "Recent commits that are kept.", state.history.count)
        text.gauge(
            "settingsd_history_bytes", "Bytes of memory that the commits that are kept take, about.",
            state.history.size)
    }

    private func addProcess(to text: inout MetricsText) {
        let process = ProcessUsage()
        let build = "settingsd_build_info"
        text.begin(build, "gauge", "The version that runs.")
        text.add(build, [("version", Self.version)], "1")
        text.gauge(
            "process_start_time_seconds", "When the daemon started, in seconds since 1970.",
            started.milliseconds / 1000)
        text.counter("process_cpu_seconds_total", "Time of a core that was used.", process.processorSeconds)
        text.gauge("process_resident_memory_bytes", "Memory that is resident.", process.residentBytes)
        text.gauge("process_virtual_memory_bytes", "Memory that is mapped.", process.virtualBytes)
        text.gauge("process_open_fds", "Files and sockets that are open.", process.openFileCount)
        text.gauge("process_max_fds", "Files and sockets that may be open.", process.openFileLimit)
    }
}

extension APIHandler {
    /// Asks all event loops for their figures, and answers the request once all loops have replied.
    func gatherFigures(for id: Ticket, _ caller: Caller?) {
        setWaiting(id, for: .serviceCall)
        let loops = service.policies.loops
        let sum = FigureSum(of: loops.count)
        let mailbox = mailbox
        for loop in loops {
            loop.ask { handler in
                handler?.countStreams()
                guard let figures = sum.add(handler?.figures) else { return }
                mailbox.run { handler in
                    // The text is rendered in the background, because rendering counts the keys of all suites and the
                    // open files. The work belongs to no client: it would otherwise wait behind the other work of the
                    // client, and the metrics are needed most while a client has much work.
                    handler.runInBackground(for: id, of: nil) {
                        [service = handler.service, cursor = handler.cursor(for: caller)] _ in
                        let response = service.metricsText(figures, at: cursor)
                        return { $0.answer(id, response) }
                    }
                }
            }
        }
    }

    private func countStreams() {
        figures.streams = requests.count { request in
            if case .stream = request { true } else { false }
        }
    }
}
