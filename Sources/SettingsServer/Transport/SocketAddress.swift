import CLinux
import Glibc
import Platform

/// An address of TCP as the kernel takes and gives it.
struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    /// Nil if it is longer than any address is.
    init?(_ source: UnsafePointer<sockaddr>, _ length: socklen_t) {
        guard Int(length) <= MemoryLayout<sockaddr_storage>.size else { return nil }
        self.length = length
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: Int(length)))
        }
    }

    /// Where a socket is bound.
    init(of descriptor: Int32) throws(SystemError) {
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        length = size
        guard result == 0 else { throw SystemError(call: "getsockname", code: errno) }
    }

    var family: Int32 { Int32(storage.ss_family) }

    var port: UInt16 {
        get { PeerAddress(storage).port }
        set {
            // The port stands in the same place in the addresses of both families.
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(
                    of: newValue.bigEndian, toByteOffset: MemoryLayout<sockaddr_in>.offset(of: \.sin_port) ?? 2,
                    as: UInt16.self)
            }
        }
    }

    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// The address in figures, with the zone of one that is good on one link only.
    var listenAddress: ListenAddress {
        let host = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            let status = withSocketAddress { address, length in
                getnameinfo(address, length, text.baseAddress, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            }
            return status == 0 ? text.baseAddress.map { String(cString: $0) } : nil
        }
        return .tcp(host: host ?? PeerAddress(storage).host, port: port)
    }
}
