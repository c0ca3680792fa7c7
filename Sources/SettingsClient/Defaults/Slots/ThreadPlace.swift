public import Glibc

/// Where a thread counts: a number from 0 to 15, for as many threads as far as possible another one.
///
/// What threads on several cores write to at the same time travels from core to core, for longer than all the rest of a
/// read takes.
@usableFromInline
enum ThreadPlace {
    /// The place of the calling thread.
    @inlinable
    static var current: Int {
        // Where a thread keeps what is its own lies pages apart from that of any other.
        let number = (UInt(pthread_self()) >> 12) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: number >> 60)
    }
}
