internal import Glibc
import Synchronization

/// A descriptor that is closed exactly once: when told to, or when its last owner lets go.
package final class OwnedDescriptor: Sendable {
    private let descriptor: Atomic<Int32>

    package init(_ descriptor: Int32) {
        self.descriptor = Atomic(descriptor)
    }

    package func close() {
        let value = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        if value >= 0 { _ = Glibc.close(value) }
    }

    deinit {
        close()
    }
}
