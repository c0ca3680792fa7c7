extension EventLoop {
    func setAlarm(_ ticket: Ticket, at deadline: UInt64) {}
    var now: UInt64 { 0 }
    func whenDrained(_ ticket: Ticket) {}
}
extension PeerAddress { var withoutPort: PeerAddress { self } }
