internal import Glibc

/// Values of `errno` for modules that do not import the C library.
package enum SystemErrorCode {
    package static var accessDenied: Int32 { EACCES }
    package static var addressFamilyNotSupported: Int32 { EAFNOSUPPORT }
    package static var addressInUse: Int32 { EADDRINUSE }
    package static var addressNotAvailable: Int32 { EADDRNOTAVAIL }
    package static var cancelled: Int32 { ECANCELED }
    package static var connectionReset: Int32 { ECONNRESET }
    package static var fileExists: Int32 { EEXIST }
    package static var fileMissing: Int32 { ENOENT }
    package static var inputOutput: Int32 { EIO }
    package static var staleFile: Int32 { ESTALE }
    package static var wouldBlock: Int32 { EWOULDBLOCK }

    /// Returns true if the code may mean that the file system does not support locks on directories.
    package static func meansUnsupportedLock(_ code: Int32) -> Bool {
        [EBADF, EINVAL, EISDIR, EOPNOTSUPP].contains(code)
    }
}
