/// Names one request of one connection on its loop. It may outlive both: what is sent to a ticket whose connection is gone
/// goes nowhere, also when its place in the loop's table has been taken by another.
package struct Ticket: Hashable, Sendable {
    let slot: UInt32
    let generation: UInt32
    /// Counts the requests of the connection, over and over.
    let number: UInt32

    /// Tells the connection from all others that its loop has or had.
    var connection: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
