import Dispatch
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// A client that sends one call after another and records each call.
///
/// If `usesRequestKeys` is true, the client connects again after a lost connection. The client then repeats a read, or
/// a write that has an idempotency key; the outcome of an interrupted write without an idempotency key is unknown. If
/// `usesRequestKeys` is false, a lost connection is an error. If `requestsFreshReads` is true, each read has the header
/// `Settings-Fresh`, so that its answer includes all commits that any daemon has acknowledged before the read.
final class HistoryClient {
    /// The maximum number of lost connections for one call.
    private static let maximumRepeats = 20

    private let number: Int
    private let encoder: CallEncoder
    private let connect: () throws -> RawClient
    /// True if most writes have an idempotency key, so that the client can repeat them.
    private let usesRequestKeys: Bool
    private var workload: Workload
    private var peer: RawClient?
    private var epoch: Epoch?
    private var lastKeyNumber = 0
    /// `run` calls this closure after each call that was answered. `runPipelined` does not call it.
    var onAnswer: () throws -> Void = {}

    init(
        _ number: Int, _ workload: Workload, settings: TestedSettings, usesRequestKeys: Bool = false,
        requestsFreshReads: Bool = false, connect: @escaping () throws -> RawClient
    ) {
        self.number = number
        self.workload = workload
        self.usesRequestKeys = usesRequestKeys
        self.connect = connect
        encoder = CallEncoder(settings: settings, requestsFreshReads: requestsFreshReads)
    }

    static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// Sends calls one after another.
    func run(_ count: Int) throws -> [Call] {
        try (0..<count).map { _ in
            let call = try perform(workload.next())
            workload.learn(from: call.outcome)
            if !call.isUnknown { try onAnswer() }
            return call
        }
    }

    /// Sends groups of `depth` calls without waiting for answers in between.
    func runPipelined(_ count: Int, depth: Int) throws -> [Call] {
        var calls: [Call] = []
        while calls.count < count {
            let requests = (0..<depth).map { _ in workload.next() }
            let bytes = requests.map { encoder.request($0).bytes }
            let peer = try open()
            let sent = Self.now
            try peer.send(Array(bytes.joined()))
            for request in requests {
                let answer = try peer.readResponse()
                var call = Call(client: number, invoked: sent, answered: Self.now, request: request)
                try recordAnswer(&call, from: answer)
                workload.learn(from: call.outcome)
                calls.append(call)
            }
        }
        return calls
    }

    private func perform(_ request: Call.Request) throws -> Call {
        var requestKey: String?
        if usesRequestKeys, case .write = request, !workload.chance(oneIn: 4) {
            lastKeyNumber += 1
            requestKey = "client-\(number)-\(lastKeyNumber)"
        }
        let bytes = encoder.request(request, requestKey: requestKey).bytes
        var call = Call(client: number, invoked: Self.now, request: request)
        var attempts = 0
        while true {
            let peer = try open()
            do {
                try peer.send(bytes)
                let answer = try peer.readResponse()
                call.answered = Self.now
                try recordAnswer(&call, from: answer)
                return call
            } catch let failure as RawClient.Failure
                where failure.isLoss && usesRequestKeys && attempts < Self.maximumRepeats
            {
                attempts += 1
                self.peer = nil
                if call.isRead {
                    call = Call(client: number, invoked: Self.now, request: request)
                } else if requestKey == nil {
                    return call
                }
            }
        }
    }

    private func open() throws -> RawClient {
        let peer = try peer ?? connect()
        self.peer = peer
        return peer
    }

    private func recordAnswer(_ call: inout Call, from answer: RawResponse) throws {
        let read = try CallAnswer(answer, to: call.request, about: encoder.settings)
        guard epoch == nil || epoch == read.cursor.epoch else {
            throw UnexpectedAnswer(request: "\(call.request), in another epoch,", answer: answer)
        }
        epoch = read.cursor.epoch
        call.outcome = read.outcome
        call.cursor = read.cursor.revision.number
    }
}

extension RawClient.Failure {
    /// True if the connection was lost, as after a kill of the daemon.
    fileprivate var isLoss: Bool {
        switch self {
        case .system, .closed, .reset: true
        case .timeout, .malformed: false
        }
    }
}

/// Chooses random reads and writes of all kinds on few settings, with tags and values that the client has seen, which
/// may be outdated.
struct Workload {
    /// The kinds of calls that a workload has.
    enum CallMix {
        /// Each call reads or writes one setting.
        case singleSettings
        /// The calls also include reads of complete suites, and transactions over both suites.
        case allCalls
    }

    private let settings: TestedSettings
    private let mix: CallMix
    private var generator: SeededGenerator
    private var seen: [Int: Call.ShownSetting] = [:]
    /// The last value that only this client stores.
    private var lastUniqueValue: Int64

    init(client: Int, seed: UInt64, settings: TestedSettings, mix: CallMix) {
        self.settings = settings
        self.mix = mix
        generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(client))
        lastUniqueValue = Int64(client + 1) * 1_000_000_000
    }

    /// Remembers the settings that an answer showed with their revisions.
    mutating func learn(from outcome: Call.Outcome) {
        let shownSettings: [Call.ShownSetting] =
            switch outcome {
            case .shown(let shownSettings), .unchanged(let shownSettings), .refused(_, let shownSettings): shownSettings
            case .committed(_, _, let after): after
            case .unknown: []
            }
        for shownSetting in shownSettings where shownSetting.revision != nil {
            seen[shownSetting.setting] = shownSetting
        }
    }

    /// Returns true with the probability 1 / `bound`.
    mutating func chance(oneIn bound: Int) -> Bool {
        generator.chance(oneIn: bound)
    }

    mutating func next() -> Call.Request {
        let setting = generator.below(settings.count)
        if mix == .allCalls && generator.chance(oneIn: 4) {
            return generator.chance(oneIn: 3) ? .read(settings.settingsInSuite(of: setting)) : transaction()
        }
        switch generator.below(10) {
        case 0..<4: return .read([setting])
        case 4..<6: return .write(if: [], [step(setting)])
        default: return .write(if: condition(setting).map { [$0] } ?? [], [step(setting)])
        }
    }

    private mutating func step(_ setting: Int) -> Call.Step {
        switch generator.below(10) {
        case 0..<5: Call.Step(setting: setting, action: .set(value()))
        case 5..<9: Call.Step(setting: setting, action: .add(Int64(generator.below(9)) - 4))
        default: Call.Step(setting: setting, action: .remove)
        }
    }

    /// Usually a unique value; sometimes a value that may be stored already.
    private mutating func value() -> Int64 {
        if generator.chance(oneIn: 6) { return Int64(generator.below(2)) }
        // Values that are far apart stay different after a few small additions.
        lastUniqueValue += 1000
        return lastUniqueValue
    }

    private mutating func condition(_ setting: Int) -> Call.Condition? {
        switch (generator.below(6), seen[setting]) {
        case (0, _): .isStored(setting, generator.chance(oneIn: 2))
        case (1, let seen?) where seen.value != nil: .hasValue(setting, seen.value ?? 0)
        case (2..., let seen?): .isAt(setting, revision: seen.revision ?? 0)
        default: nil
        }
    }

    private mutating func transaction() -> Call.Request {
        var conditions: [Call.Condition] = []
        if generator.chance(oneIn: 2) {
            for _ in 0...generator.below(2) {
                if let condition = condition(generator.below(settings.count)) { conditions.append(condition) }
            }
        }
        let steps = (0...generator.below(4)).map { _ in step(generator.below(settings.count)) }
        return .write(if: conditions, steps)
    }
}

/// The numbered settings of a test and their initial values. The settings alternate between two suites.
struct TestedSettings {
    /// The number of settings, all of which have initial values.
    let count: Int

    static let suites = ["left", "right"]

    func suite(of setting: Int) -> String { Self.suites[setting % 2] }
    func key(of setting: Int) -> String { "k\(setting)" }
    func path(of setting: Int) -> String { "\(suite(of: setting))/keys/\(key(of: setting))" }

    /// The settings in the same suite.
    func settingsInSuite(of setting: Int) -> [Int] {
        (0..<count).filter { $0 % 2 == setting % 2 }
    }

    /// The number of a setting; nil if the test does not use the setting.
    func position(_ suite: SuiteName, _ key: KeyName) -> Int? {
        (0..<count).first { suite.text == self.suite(of: $0) && key.text == self.key(of: $0) }
    }

    /// Stores the initial values and returns the resulting model.
    func prepare(_ peer: RawClient) throws -> Model {
        var settingValues: [Model.SettingValue] = []
        for setting in 0..<count {
            let answer = try peer.ask(Request("PUT \(path(of: setting)) 0"))
            guard answer.status == 201, let body = try? SettingState(json: JSONValue(parsing: answer.body)) else {
                throw UnexpectedAnswer(request: "the first value of \(setting)", answer: answer)
            }
            settingValues.append(Model.SettingValue(value: 0, revision: body.revision.number))
        }
        return Model(settingValues)
    }

    /// The initial values, and the commits after them. The first revision of the timeline is the revision of the last
    /// initial value.
    func timeline(_ commits: JournaledCommits, from initial: Model) throws -> Timeline {
        var timeline = Timeline(from: initial)
        for commit in commits.commits where commit.revision.number > timeline.revisions[0] {
            let values = try commit.changes.map { change in
                (try #require(position(change.suite, change.key)), change.new?.integer)
            }
            if !values.isEmpty { timeline.append(Dictionary(uniqueKeysWithValues: values), at: commit.revision.number) }
        }
        return timeline
    }
}

/// An answer that does not match its request.
struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(request: String, answer: RawResponse) {
        description =
            "unexpected answer to \(request): \(answer.status) \(answer.fields) \(answer.text)"
    }
}
