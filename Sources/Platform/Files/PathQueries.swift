internal import CLinux
internal import Glibc

extension POSIXFileSystem {
    /// Returns the absolute path of a file, in which all symbolic links are resolved; nil if the file does not exist or
    /// is not accessible.
    package static func resolveLinks(of path: String) -> String? {
        guard let target = realpath(path.systemBytes, nil) else { return nil }
        defer { free(target) }
        return String(escapingInvalidBytesOf: target)
    }

    /// Follows the symbolic link at a path, and further symbolic links to which it leads. Returns the path to which the
    /// last link leads, where a file need not exist. If there is no symbolic link at the path, returns the path itself.
    package static func target(ofLinksAt path: String) throws(FileError) -> String {
        var path = path
        // Linux follows at most 40 links.
        for _ in 0...40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path.systemBytes, &buffer, buffer.count)
            guard count >= 0 else {
                // EINVAL: the file is not a symbolic link.
                if errno == EINVAL || errno == ENOENT { return path }
                throw FileError(.status, path, code: errno)
            }
            let target = String(escapingInvalidBytesOf: buffer[..<count].map { UInt8(bitPattern: $0) })
            let isAbsolute = target.utf8.first == UInt8(ascii: "/")
            path = isAbsolute ? target : path.parentDirectory.map { "\($0)/\(target)" } ?? target
        }
        throw FileError(.status, path, code: ELOOP)
    }

    /// Creates a hard link: gives the file at `path` the second name `new`. Throws if there is already a file `new`.
    package static func link(_ path: String, to new: String) throws(FileError) {
        guard Glibc.link(path.systemBytes, new.systemBytes) == 0 else { throw FileError(.link, path, code: errno) }
    }

    /// Throws if the directory does not exist, or if the process has no permission to create files in it.
    package static func checkFileCreation(in directory: String) throws(SystemError) {
        guard faccessat(AT_FDCWD, directory.systemBytes, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw SystemError(call: "faccessat")
        }
    }
}
