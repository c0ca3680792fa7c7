internal import Glibc

/// The processors of the machine.
package enum Processors {
    /// The number of processors that are online, or -1 if the system does not report the number.
    package static var onlineCount: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }
}
