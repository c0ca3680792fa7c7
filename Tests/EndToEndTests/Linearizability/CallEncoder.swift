import SettingsAPI
import SettingsModel
import TestSupport

/// Translates calls to HTTP requests.
struct CallEncoder {
    let settings: TestedSettings
    /// True if reads have Settings-Fresh, so that they show all commits that any daemon has acknowledged.
    var requestsFreshReads = false

    /// The HTTP request of a call. A read of several settings reads the suite to which all of them belong.
    ///
    /// - Parameter requestKey: The idempotency key, with which the client can repeat the request after a lost answer.
    func request(_ call: Call.Request, requestKey: String? = nil) -> Request {
        switch call {
        case .read(let read):
            var request = Request("GET \(read.count == 1 ? settings.path(of: read[0]) : settings.suite(of: read[0]))")
            if requestsFreshReads { request.fields.append("Settings-Fresh: true") }
            return request
        case .write(let conditions, let steps):
            var request = settingRequest(conditions, steps) ?? transactionRequest(conditions, steps)
            if let requestKey { request.fields.append("Idempotency-Key: \(requestKey)") }
            return request
        }
    }

    /// The write as a request to one setting; nil if the write needs a transaction.
    private func settingRequest(_ conditions: [Call.Condition], _ steps: [Call.Step]) -> Request? {
        guard steps.count == 1, conditions.count <= 1, conditions.allSatisfy({ $0.setting == steps[0].setting }) else {
            return nil
        }
        let path = settings.path(of: steps[0].setting)
        var request =
            switch steps[0].action {
            case .set(let value): Request("PUT \(path) \(value)")
            case .add(let amount): Request(#"PATCH \#(path) {"op":"add","by":\#(amount)}"#)
            case .remove: Request("DELETE \(path)")
            }
        switch conditions.first {
        case nil: break
        case .isAt(_, let revision)?: request.fields = ["If-Match: \"\(revision)\""]
        case .isStored(_, let isStored)?: request.fields = [isStored ? "If-Match: *" : "If-None-Match: *"]
        case .hasValue?: return nil
        }
        return request
    }

    private func transactionRequest(_ conditions: [Call.Condition], _ steps: [Call.Step]) -> Request {
        let conditions = conditions.map { condition in
            let test =
                switch condition {
                case .isAt(_, let revision): #""revision":\#(revision)"#
                case .isStored(_, let isStored): #""stored":\#(isStored)"#
                case .hasValue(_, let value): #""value":\#(value)"#
                }
            return "{\(address(of: condition.setting)),\(test)}"
        }
        let operations = steps.map { step in
            let operation =
                switch step.action {
                case .set(let value): #""op":"set","value":\#(value)"#
                case .add(let amount): #""op":"add","by":\#(amount)"#
                case .remove: #""op":"delete""#
                }
            return "{\(address(of: step.setting)),\(operation)}"
        }
        let body = #"{"if":[\#(conditions.joined(separator: ","))],"do":[\#(operations.joined(separator: ","))]}"#
        return Request("POST /v1/transaction \(body)")
    }

    private func address(of setting: Int) -> String {
        #""suite":"\#(settings.suite(of: setting))","key":"\#(settings.key(of: setting))""#
    }
}

/// The outcome and the cursor of a call according to its answer.
struct CallAnswer {
    let outcome: Call.Outcome
    let cursor: Cursor

    /// Parses an answer. Throws an error if the answer does not match the request.
    init(_ answer: RawResponse, to request: Call.Request, about settings: TestedSettings) throws {
        let unexpected = UnexpectedAnswer(request: "\(request)", answer: answer)
        guard let cursor = answer.field("Settings-Cursor").flatMap({ Cursor($0) }),
            let json = answer.json
        else { throw unexpected }
        self.cursor = cursor
        let reader = AnswerReader(answer: answer, json: json, settings: settings, unexpected: unexpected)
        switch request {
        case .read(let read): outcome = .shown(try reader.shownSettings(of: read))
        case .write(_, let steps):
            if let refusal = try reader.refusalOutcome() {
                outcome = refusal
            } else if json["changes"] == nil {
                // Only the answer to a transaction has `changes`.
                outcome = try reader.settingOutcome(of: steps)
            } else {
                outcome = try reader.transactionOutcome()
            }
        }
    }
}

/// Reads the body of one answer.
private struct AnswerReader {
    let answer: RawResponse
    let json: JSONValue
    let settings: TestedSettings
    let unexpected: UnexpectedAnswer

    /// The settings that the answer to a read shows.
    func shownSettings(of read: [Int]) throws -> [Call.ShownSetting] {
        guard read.count == 1 else { return try settingsOfSuite(read) }
        if answer.status == 404, json["code"]?.string == "not_set", let revision = tag {
            return [Call.ShownSetting(setting: read[0], value: nil, revision: revision)]
        }
        guard answer.status == 200, let setting = try? SettingState(json: json) else { throw unexpected }
        let shown = try shownSetting(setting)
        guard shown.setting == read[0], shown.revision == tag else { throw unexpected }
        return [shown]
    }

    private func settingsOfSuite(_ read: [Int]) throws -> [Call.ShownSetting] {
        guard answer.status == 200, let suite = try? SuiteState(json: json),
            suite.contents.suite.text == settings.suite(of: read[0]),
            answer.field("Settings-Cursor") == suite.cursor.description
        else { throw unexpected }
        var values: [Int: Int64] = [:]
        for entry in suite.contents.values {
            guard let setting = settings.position(suite.contents.suite, entry.key), let value = entry.value.integer,
                read.contains(setting)
            else { throw unexpected }
            values[setting] = value
        }
        return read.map { Call.ShownSetting(setting: $0, value: values[$0]) }
    }

    /// The outcome of a refused write; nil if the write was not refused.
    func refusalOutcome() throws -> Call.Outcome? {
        guard answer.status >= 400 else { return nil }
        let problem = Problem(status: answer.status, body: json)
        switch problem.code {
        case .notSet: return .refused(.unset, [])
        case .preconditionFailed:
            var shownSettings: [Call.ShownSetting] = []
            for case .setting(let setting)? in [problem.current] + problem.failed.map(\.current) {
                shownSettings.append(try shownSetting(setting))
            }
            guard !shownSettings.isEmpty else { throw unexpected }
            return .refused(.condition, shownSettings)
        default: throw unexpected
        }
    }

    /// The outcome of a write to one setting.
    func settingOutcome(of steps: [Call.Step]) throws -> Call.Outcome {
        guard let setting = try? SettingState(json: json), let previous = setting.previous,
            let isChanged = setting.changed
        else { throw unexpected }
        let now = try shownSetting(setting)
        let before = Call.ShownSetting(
            setting: now.setting, value: previous.value?.integer, revision: previous.revision.number)
        let isCreated = !previous.source.isStored && setting.source.isStored
        guard steps.allSatisfy({ $0.setting == now.setting }), now.revision == tag,
            answer.status == (isCreated && isPut(steps) ? 201 : 200)
        else { throw unexpected }
        return isChanged ? .committed(now.revision ?? 0, before: [before], after: [now]) : .unchanged([now, before])
    }

    private func isPut(_ steps: [Call.Step]) -> Bool {
        if case .set? = steps.first?.action { true } else { false }
    }

    /// The outcome of a transaction.
    func transactionOutcome() throws -> Call.Outcome {
        guard answer.status == 200, let summary = try? WriteSummary(json: json),
            summary.changed != summary.changes.isEmpty
        else { throw unexpected }
        guard summary.changed else { return .unchanged([]) }
        var (before, after): ([Call.ShownSetting], [Call.ShownSetting]) = ([], [])
        for change in summary.changes {
            guard let setting = settings.position(change.suite, change.key) else { throw unexpected }
            before.append(Call.ShownSetting(setting: setting, value: change.old?.integer))
            after.append(
                Call.ShownSetting(setting: setting, value: change.new?.integer, revision: change.revision.number))
        }
        return .committed(summary.revision.number, before: before, after: after)
    }

    private func shownSetting(_ setting: SettingState) throws -> Call.ShownSetting {
        guard let position = settings.position(setting.suite, setting.key),
            (setting.value?.integer == nil) == (setting.source == .unset)
        else { throw unexpected }
        return Call.ShownSetting(setting: position, value: setting.value?.integer, revision: setting.revision.number)
    }

    private var tag: Int64? {
        answer.field("ETag").flatMap { EntityTag($0) }?.revision.number
    }
}
