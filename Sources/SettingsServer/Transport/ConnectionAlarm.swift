/// When a handler wants to be reminded of answers that it owes.
extension Connection {
    func setAlarm(_ ticket: Ticket, at time: UInt64, _ context: LoopContext) {
        guard let position = position(ticket, context), !owed[position].isComplete else { return }
        owed[position].alarm = time
        fileAlarm(time, context)
    }

    /// Later than it is filed for already: it will be found and filed again then.
    private func fileAlarm(_ time: UInt64, _ context: LoopContext) {
        guard time != DeadlineWheel.never, time / context.alarms.tick < filedAlarm else { return }
        filedAlarm = context.alarms.file(name, at: time, now: context.now)
    }

    /// The wheel has given this connection out, filed under `tick`.
    func checkAlarms(_ tick: UInt64, _ context: LoopContext) {
        guard tick == filedAlarm else { return }
        filedAlarm = DeadlineWheel.never
        let firstNumber = nextNumber &- UInt32(owed.count)
        for position in owed.indices where owed[position].alarm <= context.now {
            owed[position].alarm = DeadlineWheel.never
            context.handler.alarm(ticket(firstNumber &+ UInt32(position)))
        }
        var next = DeadlineWheel.never
        for position in owed.indices { next = min(next, owed[position].alarm) }
        fileAlarm(next, context)
    }
}
