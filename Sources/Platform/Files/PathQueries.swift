internal import CLinux
internal import Glibc

extension POSIXFileSystem {
    /// Returns the path of the file that a path leads to through symbolic links, or nil if there is no such file.
    package static func resolveLinks(of path: String) -> String? {
        guard let target = realpath(path, nil) else { return nil }
        defer { free(target) }
        return String(cString: target)
    }

    /// Throws if the process has no permission to create files in a directory, or if there is no such directory.
    package static func checkFileCreation(in directory: String) throws(SystemError) {
        guard faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw SystemError(call: "faccessat")
        }
    }
}
