internal import CLinux
internal import Glibc

extension POSIXFileSystem {
    /// Returns the absolute path of a file without symbolic links; nil if the file does not exist.
    package static func resolveLinks(of path: String) -> String? {
        guard let target = realpath(path.systemBytes, nil) else { return nil }
        defer { free(target) }
        return String(escapingInvalidBytesOf: target)
    }

    /// Throws if the directory does not exist, or if the process has no permission to create files in it.
    package static func checkFileCreation(in directory: String) throws(SystemError) {
        guard faccessat(AT_FDCWD, directory.systemBytes, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw SystemError(call: "faccessat")
        }
    }
}
