internal import CLinux
internal import Glibc

/// The effective user and the groups of the process.
package enum ProcessUser {
    /// The effective user ID.
    package static var identifier: UInt32 { geteuid() }

    package static var isRoot: Bool { identifier == 0 }

    /// If the process runs as root, changes its effective user to the owner of a directory, its effective group to the
    /// group of the directory, and its supplementary groups to the groups of the owner. Files that the process then
    /// creates belong to the owner. If the owner has put a symbolic link into the directory, the process can no longer
    /// follow the link to a file that the owner has no permission to access.
    ///
    /// Changes nothing if the process does not run as root, or if root owns the directory. Affects all threads.
    ///
    /// - Parameter path: the directory. If the directory does not exist, the function uses the owner of the nearest
    ///   parent directory that exists. If the path is a symbolic link that root does not own, the function uses the
    ///   owner of the link, because the owner of the link chose the target.
    package static func switchToOwner(of path: String) throws(FileError) {
        guard isRoot else { return }
        var directory = path
        var status = stat()
        while stat(directory, &status) != 0 {
            // Ignore other errors here, because the next operation on the directory reports them.
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

    /// Returns true if the process belongs to a group.
    package static func isMember(ofGroup group: UInt32) -> Bool {
        if getegid() == group { return true }
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(max(0, Int(count))).contains(group)
    }
}
