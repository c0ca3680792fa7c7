import Dispatch
import SettingsAPI
import SettingsModel
import TestSupport

/// A client that does one thing after the other and keeps a record of it.
///
/// When its connection is lost it gets another one. It repeats what it may: reads, and writes that have a name; what
/// became of any other write nobody knows.
final class HistoryClient {
    /// How often a call may lose its connection.
    private static let mostRepeats = 20

    private let number: Int
    private let form: CallForm
    private let connect: () throws -> RawClient
    /// Whether to name most writes, so that they can be repeated.
    private let namesWrites: Bool
    private var workload: Workload
    private var peer: RawClient?
    private var epoch: Epoch?
    private var lastName = 0
    /// Called after each call that was answered.
    var answered: () throws -> Void = {}

    init(
        _ number: Int, _ workload: Workload, settings: TestedSettings, namesWrites: Bool = false,
        connect: @escaping () throws -> RawClient
    ) {
        self.number = number
        self.workload = workload
        self.namesWrites = namesWrites
        self.connect = connect
        form = CallForm(settings: settings)
    }

    static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// One call after the other.
    func run(_ count: Int) throws -> [Call] {
        try (0..<count).map { _ in
            let call = try perform(workload.next())
            workload.learn(from: call.outcome)
            if !call.isUnknown { try answered() }
            return call
        }
    }

    /// Calls sent together, so many at a time, before the first of them is answered.
    func runPipelined(_ count: Int, depth: Int) throws -> [Call] {
        var calls: [Call] = []
        while calls.count < count {
            let requests = (0..<depth).map { _ in workload.next() }
            let bytes = requests.map { form.bytes($0) }
            let peer = try open()
            let sent = Self.now
            try peer.send(Array(bytes.joined()))
            for request in requests {
                let answer = try peer.readResponse()
                var call = Call(client: number, invoked: sent, answered: Self.now, request: request)
                try fill(&call, from: answer)
                workload.learn(from: call.outcome)
                calls.append(call)
            }
        }
        return calls
    }

    private func perform(_ request: Call.Request) throws -> Call {
        var name: String?
        if namesWrites, case .write = request, !workload.chance(oneIn: 4) {
            lastName += 1
            name = "client-\(number)-\(lastName)"
        }
        let bytes = form.bytes(request, requestKey: name)
        var call = Call(client: number, invoked: Self.now, request: request)
        var attempts = 0
        while true {
            let peer = try open()
            do {
                try peer.send(bytes)
                let answer = try peer.readResponse()
                call.answered = Self.now
                try fill(&call, from: answer)
                return call
            } catch let failure as RawClient.Failure where failure.isLoss && namesWrites && attempts < Self.mostRepeats
            {
                attempts += 1
                self.peer = nil
                if call.isRead {
                    call = Call(client: number, invoked: Self.now, request: request)
                } else if name == nil {
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

    private func fill(_ call: inout Call, from answer: RawResponse) throws {
        let read = try CallAnswer(answer, to: call.request, about: form.settings)
        guard epoch == nil || epoch == read.cursor.epoch else {
            throw UnexpectedAnswer(request: "\(call.request), in another epoch,", answer: answer)
        }
        epoch = read.cursor.epoch
        call.outcome = read.outcome
        call.cursor = read.cursor.revision.number
    }
}

extension RawClient.Failure {
    /// Whether the connection is gone, as it is when the daemon is killed.
    fileprivate var isLoss: Bool {
        switch self {
        case .system, .closed, .reset: true
        case .timeout, .malformed: false
        }
    }
}
