internal import Glibc

/// The values of `errno` that other modules report or handle in a special way.
package enum SystemErrorCode {
    package static var accessDenied: Int32 { EACCES }
    package static var addressFamilyNotSupported: Int32 { EAFNOSUPPORT }
    package static var addressInUse: Int32 { EADDRINUSE }
    package static var addressNotAvailable: Int32 { EADDRNOTAVAIL }
    package static var cancelled: Int32 { ECANCELED }
    package static var connectionReset: Int32 { ECONNRESET }
    package static var fileExists: Int32 { EEXIST }
    package static var inputOutput: Int32 { EIO }
    package static var staleFile: Int32 { ESTALE }
    package static var wouldBlock: Int32 { EWOULDBLOCK }

    /// True if a file system returns this code because it cannot lock a directory.
    package static func meansUnsupportedLock(_ code: Int32) -> Bool {
        [EBADF, EINVAL, EISDIR, EOPNOTSUPP].contains(code)
    }
}
