internal import CLinux
internal import Glibc

/// The user and the groups whose rights the process has.
package enum ProcessUser {
    /// The number of the user.
    package static var identifier: UInt32 { geteuid() }

    /// True if the user is root.
    package static var isRoot: Bool { identifier == 0 }

    /// Replaces the rights of root by the rights of the user who owns a directory. Files that the process then makes belong
    /// to that user, and a link that the user places in the directory leads to nothing that the user cannot reach.
    ///
    /// Changes nothing if the process does not run as root, or if root owns the directory. All threads are affected.
    ///
    /// - Parameter path: the directory. If it is missing, the nearest directory above it decides. If the path is a symbolic link of
    ///   another user than root, the owner of the link decides, because that user chose the target.
    package static func assumeOwner(of path: String) throws(FileError) {
        guard isRoot else { return }
        var directory = path
        var status = stat()
        while stat(directory, &status) != 0 {
            // The operation on the directory reports any other error.
            guard errno == ENOENT, directory != "." else { return }
            directory = directory.parentDirectory ?? "."
        }
        var link = stat()
        if lstat(directory, &link) == 0, link.st_mode & S_IFMT == S_IFLNK, link.st_uid != 0 { status = link }
        guard status.st_uid != 0 else { return }
        let groups = getpwuid(status.st_uid).map { initgroups($0.pointee.pw_name, status.st_gid) } ?? setgroups(0, nil)
        guard groups == 0, setegid(status.st_gid) == 0, seteuid(status.st_uid) == 0 else {
            throw FileError(.setUser, directory, code: errno)
        }
    }

    /// True if the process has the rights of a group.
    package static func isMember(ofGroup group: UInt32) -> Bool {
        if getegid() == group { return true }
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(max(0, Int(count))).contains(group)
    }
}
