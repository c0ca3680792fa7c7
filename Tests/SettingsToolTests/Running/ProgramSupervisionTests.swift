import Platform
import SettingsModel
import Testing

@testable import settings

/// Tests of the decisions of `settings run`, without processes and with a simulated clock. The exit code of a program
/// that a signal ended is 128 plus the number of the signal: 130 for SIGINT, 137 for SIGKILL, 143 for SIGTERM.
struct ProgramSupervisionTests {
    private typealias Action = ProgramSupervision.Action

    private enum Event {
        /// The variable `A` has this value.
        case value(String)
        /// The program has ended with this exit code.
        case end(Int32)
        /// A signal that another process sends to `settings` only.
        case signal(ProcessSignal)
        /// A signal from a key such as Ctrl-C, which the kernel also sends to the program.
        case key(ProcessSignal)
        /// A signal to `settings` because the terminal disappeared.
        case terminalEnd
        /// Only the time has passed.
        case nothing
    }

    /// An event at a time in seconds, the actions that it causes, and the time of the next deadline.
    private struct Step {
        let time: Double
        let event: Event
        let actions: [Action]
        let deadline: Double?

        init(_ time: Double, _ event: Event, _ actions: [Action], next deadline: Double?) {
            (self.time, self.event, self.actions, self.deadline) = (time, event, actions, deadline)
        }
    }

    /// Runs the steps with a settle time of 0.2 s and a stop timeout of 5 s. The program starts at 0 with the value 1.
    private func runSteps(
        _ reaction: ProgramSupervision.Reaction, _ steps: [Step], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let start = ContinuousClock.now
        var supervision = ProgramSupervision(
            of: "p", with: ["A": UTF8Text("1")], reaction: reaction, settleTime: .milliseconds(200),
            stopTimeout: .seconds(5), at: start)
        for step in steps {
            let now = start + .milliseconds(Int((step.time * 1000).rounded()))
            var actions: [Action] = []
            switch step.event {
            case .value(let value): supervision.update(["A": UTF8Text(value)], at: now)
            case .end(let code): actions = supervision.programEnded(code: code, at: now)
            case .signal(let signal):
                actions = supervision.receive(.init(signal, isFromKernel: false), isDelivered: false, at: now)
            case .key(let signal):
                // The kernel has delivered the signal to the program, too.
                actions = supervision.receive(.init(signal, isFromKernel: true), isDelivered: true, at: now)
            case .terminalEnd:
                actions = supervision.receive(.init(.hangUp, isFromKernel: true), isDelivered: false, at: now)
            case .nothing: break
            }
            actions += supervision.advance(to: now)
            #expect(actions == step.actions, "at \(step.time)", sourceLocation: sourceLocation)
            let deadline = step.deadline.map { start + .milliseconds(Int(($0 * 1000).rounded())) }
            #expect(supervision.deadline == deadline, "at \(step.time)", sourceLocation: sourceLocation)
        }
    }

    private static let restartActions: [Action] = [.report("A changed; restarting p"), .send(.terminate)]

    @Test("Changes within the settle time cause one restart, which uses the newest variables")
    func settle() {
        runSteps(
            .restart,
            [
                Step(1, .value("2"), [], next: 1.2), Step(1.1, .value("3"), [], next: 1.2),
                Step(1.2, .nothing, Self.restartActions, next: 6.2), Step(1.3, .value("4"), [], next: 6.2),
                Step(1.4, .end(143), [.start], next: nil), Step(2, .value("4"), [], next: nil),
                Step(3, .value("5"), [], next: 3.2), Step(3.1, .value("4"), [], next: nil),
                Step(3.3, .nothing, [], next: nil),
            ])
    }

    @Test("A change during a restart that is reverted before the start causes no further restart")
    func changeDuringRestart() {
        runSteps(
            .restart,
            [
                Step(1, .value("2"), [], next: 1.2), Step(1.2, .nothing, Self.restartActions, next: 6.2),
                Step(1.3, .value("1"), [], next: 6.2), Step(1.4, .end(0), [.start], next: nil),
                Step(2, .value("2"), [], next: 2.2), Step(2.2, .nothing, Self.restartActions, next: 7.2),
            ])
    }

    @Test("A program that does not end after SIGTERM is killed after the stop timeout, and then started again")
    func kill() {
        runSteps(
            .restart,
            [
                Step(1, .value("2"), [], next: 1.2), Step(1.2, .nothing, Self.restartActions, next: 6.2),
                Step(
                    6.2, .nothing, [.report("p did not end within 5.0 seconds; killing it"), .send(.kill)], next: nil),
                Step(6.3, .end(137), [.start], next: nil),
            ])
    }

    @Test("A program that fails after a restart is started again after pauses that double")
    func backoff() {
        func failure(_ seconds: Int) -> Action {
            .report("p ended with exit code 3 after a restart; starting it again in \(seconds).0 seconds")
        }
        var steps = [
            Step(1, .value("2"), [], next: 1.2), Step(1.2, .nothing, Self.restartActions, next: 6.2),
            Step(1.3, .end(0), [.start], next: nil),
        ]
        var time = 2.0
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            steps.append(Step(time, .end(3), [failure(pause)], next: time + Double(pause)))
            time += Double(pause)
            steps.append(Step(time, .nothing, [.start], next: nil))
        }
        // A failure ten seconds after the restart has another cause than the change, so the command ends.
        runSteps(.restart, steps + [Step(time + 10, .end(3), [.end(code: 3)], next: nil)])
        // A change ends the pause, because the change may correct the failure. A long run resets the pauses.
        let repair: [Action] = [.report("A changed; starting p"), .start]
        runSteps(
            .restart,
            steps.prefix(4) + [
                Step(2.1, .value("3"), [], next: 2.3), Step(2.3, .nothing, repair, next: nil),
                Step(2.4, .end(3), [failure(2)], next: 4.4), Step(4.4, .nothing, [.start], next: nil),
                Step(20, .value("4"), [], next: 20.2), Step(20.2, .nothing, Self.restartActions, next: 25.2),
                Step(20.3, .end(0), [.start], next: nil), Step(20.4, .end(3), [failure(1)], next: 21.4),
            ])
    }

    @Test("If a program ends before its first restart, with 0, or after a signal, settings run ends with its exit code")
    func ownEnd() {
        let restarted = [
            Step(1, .value("2"), [], next: 1.2), Step(1.2, .nothing, Self.restartActions, next: 6.2),
            Step(1.3, .end(0), [.start], next: nil),
        ]
        runSteps(.restart, [Step(1, .value("2"), [], next: 1.2), Step(1.1, .end(3), [.end(code: 3)], next: 1.2)])
        runSteps(.restart, restarted + [Step(2, .end(0), [.end(code: 0)], next: nil)])
        runSteps(
            .restart,
            restarted + [Step(2, .key(.interrupt), [], next: nil), Step(2.1, .end(130), [.end(code: 130)], next: nil)])
    }

    @Test("After Ctrl-C, no change takes effect until the stop timeout, and a program that ends is not started again")
    func changeAfterInterrupt() {
        for event in [Event.key(.interrupt), .key(.quit), .signal(.interrupt), .terminalEnd] {
            var sent: [Action] = []
            if case .signal(let signal) = event { sent = [.send(signal)] }
            if case .terminalEnd = event { sent = [.send(.hangUp)] }
            let shutdown = [
                Step(0.9, .value("2"), [], next: 1.1), Step(1, event, sent, next: 6), Step(2, .value("3"), [], next: 6),
            ]
            runSteps(.restart, shutdown + [Step(3, .end(130), [.end(code: 130)], next: 6)])
            // A program that has ignored the signal is still supervised: after the stop timeout, the change restarts
            // it, and a failure after this restart starts it again.
            runSteps(
                .restart,
                shutdown + [
                    Step(5, event, sent, next: 10), Step(10, .nothing, Self.restartActions, next: 15),
                    Step(11, .end(143), [.start], next: nil),
                    Step(
                        12, .end(1),
                        [.report("p ended with exit code 1 after a restart; starting it again in 1.0 seconds")],
                        next: 13),
                ])
        }
        // A change after the stop timeout takes effect after the settle time.
        runSteps(
            .restart,
            [
                Step(1, .key(.interrupt), [], next: nil), Step(6, .value("2"), [], next: 6.2),
                Step(6.2, .nothing, Self.restartActions, next: 11.2),
            ])
        runSteps(
            .restart,
            [
                Step(1, .signal(.terminate), [.send(.terminate)], next: 6), Step(2, .value("2"), [], next: 6),
                Step(3, .end(143), [.end(code: 143)], next: 6),
            ])
    }

    @Test("settings run forwards signals to the program, except a signal that the kernel has also sent to the program")
    func signals() {
        runSteps(
            .ignore,
            [
                Step(1, .signal(.hangUp), [.send(.hangUp)], next: nil),
                Step(1, .signal(.interrupt), [.send(.interrupt)], next: nil), Step(1, .key(.interrupt), [], next: nil),
                Step(1, .terminalEnd, [.send(.hangUp)], next: nil), Step(1, .value("2"), [], next: nil),
                Step(2, .signal(.terminate), [.send(.terminate)], next: 7),
                Step(3, .signal(.terminate), [.send(.terminate)], next: 7),
                Step(7, .nothing, [.report("p did not end within 5.0 seconds; killing it"), .send(.kill)], next: nil),
                Step(7.1, .end(137), [.end(code: 137)], next: nil),
            ])
    }

    @Test("A signal that ends programs cancels a restart, but SIGHUP from a process does not")
    func signalsDuringRestart() {
        let stopping = [Step(1, .value("2"), [], next: 1.2), Step(1.2, .nothing, Self.restartActions, next: 6.2)]
        for (event, actions) in [
            (Event.key(.interrupt), []), (.signal(.terminate), [.send(.terminate)]), (.terminalEnd, [.send(.hangUp)]),
        ] as [(Event, [Action])] {
            runSteps(
                .restart,
                stopping + [Step(1.3, event, actions, next: 6.2), Step(1.4, .end(143), [.end(code: 143)], next: 6.2)])
        }
        runSteps(
            .restart,
            stopping + [
                Step(1.3, .signal(.hangUp), [.send(.hangUp)], next: 6.2), Step(1.4, .end(143), [.start], next: nil),
                Step(
                    1.5, .end(9),
                    [.report("p ended with exit code 9 after a restart; starting it again in 1.0 seconds")],
                    next: 2.5),
                Step(1.6, .signal(.user1), [], next: 2.5), Step(1.6, .signal(.hangUp), [], next: 2.5),
                Step(1.7, .signal(.terminate), [.end(code: 143)], next: 2.5),
            ])
    }

    @Test("A change ends the program, signals the program, or has no effect, as --on-change says")
    func reactions() {
        runSteps(
            .exit,
            [
                Step(1, .value("2"), [], next: 1.2),
                Step(1.2, .nothing, [.report("A changed; ending p"), .send(.terminate)], next: 6.2),
                Step(1.3, .end(143), [.end(code: 143)], next: 6.2),
            ])
        let signal: [Action] = [.report("A changed; sending USR1 to p"), .send(.user1)]
        runSteps(
            .signal(.user1),
            [
                Step(1, .value("2"), [], next: 1.2), Step(1.2, .nothing, signal, next: nil),
                Step(2, .value("1"), [], next: 2.2), Step(2.2, .nothing, signal, next: nil),
                Step(3, .end(5), [.end(code: 5)], next: nil),
            ])
        runSteps(.ignore, [Step(1, .value("2"), [], next: nil), Step(9, .nothing, [], next: nil)])
    }

    @Test("The report of a change names at most five variables, in alphabetical order")
    func report() {
        let now = ContinuousClock.now
        for (count, names) in [(2, "V1, V2"), (5, "V1, V2, V3, V4, V5"), (7, "V1, V2, V3, V4, V5 and 2 more")] {
            var supervision = ProgramSupervision(
                of: "p", with: ["A": UTF8Text("1")], reaction: .exit, settleTime: .zero, stopTimeout: .zero, at: now)
            let new = (1...count).map { ("V\($0)", UTF8Text("")) } + [("A", UTF8Text("1"))]
            supervision.update(Dictionary(uniqueKeysWithValues: new), at: now)
            #expect(supervision.advance(to: now).first == .report("\(names) changed; ending p"))
        }
    }
}
