import Glibc

/// A path under /dev and why it cannot be opened, in words that name the file, its group, or the program that has
/// it open. Used by the ttys; `LinkSupervisor` asks whether the node exists.
package struct DeviceNode {
    let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Whether the node exists, following symbolic links. A node that cannot be examined (a directory keeps us out)
    /// counts as existing, because inotify would not report it either.
    var exists: Bool {
        var info = stat()
        return stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }

    /// Explains a failed open(2) or flock(2).
    ///
    /// - Parameter others: Evaluated when there is no such node: see `absent`.
    func problem(
        opening error: CInt, others: @autoclosure () -> [String] = []
    ) -> LinkProblem {
        switch error {
        case ENOENT, ENOTDIR:
            return absent(others: others())
        case EACCES, EPERM:
            // No permission would help if the path is wrong.
            if let fileType, fileType != S_IFCHR { return notATerminal() }
            // Mode and group give EACCES; EPERM comes from a device policy.
            if error == EPERM, let info, fileType == S_IFCHR {
                return Self.forbiddenByPolicy(path: path, device: info.st_rdev)
            }
            return permissionDenied()
        case EBUSY:
            return busy()
        case EISDIR, ELOOP:
            return notATerminal()
        case ENXIO, ENODEV:
            // A socket file also gives ENXIO.
            return fileType == S_IFCHR
                ? LinkProblem(
                    .vanished, "\(path) exists but no device is behind it",
                    remedy: "plug the device in again")
                : notATerminal()
        default:
            return .system("\(path) could not be opened", errno: error)
        }
    }

    /// - Parameter others: The nodes that exist: the missing one may have another name today.
    func absent(others: [String] = []) -> LinkProblem {
        LinkProblem(
            .absent, "\(path) does not exist" + Self.words(others),
            remedy: "plug the device in; relayd opens it as soon as it appears")
    }

    /// "; there is /dev/ttyACM0 (FTDI FT232R)".
    private static func words(_ others: [String]) -> String {
        guard let last = others.prefix(mostOthers).last else { return "" }
        let more = others.count - mostOthers
        let named = others.prefix(mostOthers).dropLast(more > 0 ? 0 : 1)
        let end = more > 0 ? "\(more) more" : last
        let list = named.isEmpty ? end : named.joined(separator: ", ") + " and " + end
        return "; there \(others.count == 1 ? "is" : "are") \(list)"
    }

    /// The rest is only counted; relayctl devices lists them all.
    private static let mostOthers = 3

    func notATerminal() -> LinkProblem {
        let found =
            switch fileType {
            case S_IFREG: "a regular file"
            case S_IFDIR: "a directory"
            case S_IFBLK: "a block device"
            case S_IFSOCK: "a socket"
            case S_IFIFO: "a pipe"
            case S_IFCHR: "a character device but no terminal"
            default: "something else"
            }
        return LinkProblem(
            .notATerminal, "\(path) is \(found); expected a tty such as /dev/ttyUSB0",
            remedy: "correct the path in the head unit's address")
    }

    /// Also false if the node cannot be examined.
    var isCharacterDevice: Bool { fileType == S_IFCHR }

    private var info: stat? {
        var info = stat()
        return stat(path, &info) == 0 ? info : nil
    }

    private var fileType: mode_t? { info.map { $0.st_mode & S_IFMT } }
}

// MARK: - Permissions

extension DeviceNode {
    /// Why the node's permissions keep this process out, without opening it; nil when they do not.
    ///
    /// - Parameter asService: whether root asks on behalf of relayd's service, if there is one.
    func problemOfAccess(asService: Bool) -> LinkProblem? {
        guard access(path, R_OK | W_OK) == 0 else { return problem(opening: errno) }
        return asService && !USBAccessRule.mayOpen(node: path)
            ? permissionDenied(to: USBAccessRule.serviceUser) : nil
    }

    private func permissionDenied(to user: String = userName(geteuid())) -> LinkProblem {
        guard let info else {
            return LinkProblem(
                .permissionDenied, "\(path) may not be reached by user \(user)",
                remedy: "check the permissions of the directories above it")
        }
        return Self.permissionDenied(
            path: path, user: user,
            owner: info.st_uid == Self.hiddenID ? nil : Self.userName(info.st_uid),
            group: info.st_gid == Self.hiddenID ? nil : Self.groupName(info.st_gid),
            mode: info.st_mode & 0o7777)
    }

    /// The ID that a process in a user namespace, such as relayd under PrivateUsers= of its unit, sees in place of
    /// every user and group that has no name there (/proc/sys/kernel/overflowgid).
    private static let hiddenID: UInt32 = 65534

    /// For a device that DeviceAllow= of relayd's unit does not name.
    static func forbiddenByPolicy(path: String, device: dev_t) -> LinkProblem {
        // A driver's number outlives plugging in and out; a path that does not exist when relayd starts allows
        // nothing. Devices of all sorts share the number 10 ("misc").
        let major = (device >> 8 & 0xfff) | (device >> 32 & ~0xfff)
        let kind = major == 10 ? path : "char-\(major)"
        return LinkProblem(
            .permissionDenied,
            "\(path) is of a kind that systemd does not let relayd open, whatever its permissions",
            remedy: "sudo systemctl edit relayd (or relayd@NAME, if that is the instance), "
                + "add [Service] and DeviceAllow=\(kind) rw, then restart it")
    }

    /// The same without a file, so that it can be tested as root.
    ///
    /// - Parameters:
    ///   - owner: nil when it cannot be seen from here.
    ///   - group: nil when it cannot be seen from here.
    static func permissionDenied(
        path: String, user: String, owner: String?, group: String?, mode: mode_t
    ) -> LinkProblem {
        let octal = String(mode, radix: 8)
        let padded = String(repeating: "0", count: max(0, 4 - octal.count)) + octal
        let hidden = "(hidden by PrivateUsers=)"
        let groupMayUseIt = mode & 0o060 == 0o060 && group != "root"
        let remedy =
            if !groupMayUseIt {
                "give a group access with a udev rule, for example "
                    + "SUBSYSTEM==\"tty\", GROUP=\"dialout\", MODE=\"0660\""
            } else if let group {
                "add the user to group \(group): sudo usermod -aG \(group) \(user), "
                    + "then log in again or restart relayd"
            } else {
                "add the user to the device's group: "
                    + "sudo usermod -aG $(stat -Lc %G \(path)) \(user), then restart relayd"
            }
        return LinkProblem(
            .permissionDenied,
            "\(path) belongs to \(owner ?? hidden):\(group ?? hidden) with mode \(padded); "
                + "user \(user) may not open it",
            remedy: remedy)
    }

    static func userName(_ id: uid_t) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard let base = buffer.baseAddress,
                getpwuid_r(id, &entry, base, buffer.count, &found) == 0,
                let name = found?.pointee.pw_name
            else { return "\(id)" }
            return String(cString: name)
        }
    }

    package static func groupName(_ id: UInt32) -> String {
        // Large groups list many members, and the buffer holds them all.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 65536) { buffer in
            var entry = group()
            var found: UnsafeMutablePointer<group>?
            guard let base = buffer.baseAddress,
                getgrgid_r(id, &entry, base, buffer.count, &found) == 0,
                let name = found?.pointee.gr_name
            else { return "\(id)" }
            return String(cString: name)
        }
    }
}

// MARK: - Holder

extension DeviceNode {
    struct Holder: Equatable {
        let processID: pid_t
        let name: String
    }

    private func busy() -> LinkProblem {
        guard let holder = findHolder() else {
            return LinkProblem(
                .busy, "\(path) is in use by another program", remedy: Self.remedyForUnknown(path))
        }
        let remedy =
            switch holder.name {
            case "ModemManager":
                "tell ModemManager to leave it alone with a udev rule that sets "
                    + "ENV{ID_MM_DEVICE_IGNORE}=\"1\""
            case "relayd":
                "stop the other relayd, or give one of the two another device"
            default:
                "close that program"
            }
        return LinkProblem(
            .busy, "\(path) is in use by \(holder.name) (process \(holder.processID))",
            remedy: remedy)
    }

    /// The first process other than ours that has the device open. Without root only our user's processes can be
    /// examined, and under relayd's unit only they are visible at all (ProtectProc=invisible); then nil is normal,
    /// and `sudo fuser` is the remedy. (We skip ourselves because our own failed attempt may still be open.)
    func findHolder() -> Holder? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        let (device, node) = (info.st_rdev, (info.st_dev, info.st_ino))
        let isDevice = info.st_mode & S_IFMT == S_IFCHR
        for entry in Self.entries(of: "/proc") {
            guard let processID = pid_t(entry), processID != getpid() else { continue }
            let folder = "/proc/\(processID)/fd"
            let holdsIt = Self.entries(of: folder).contains { descriptor in
                var open = stat()
                guard stat("\(folder)/\(descriptor)", &open) == 0 else { return false }
                // The same device can be open through another node.
                return (open.st_dev, open.st_ino) == node
                    || isDevice && open.st_mode & S_IFMT == S_IFCHR && open.st_rdev == device
            }
            if holdsIt {
                return Holder(
                    processID: processID,
                    name: SystemFile.line("/proc/\(processID)/comm") ?? "a program")
            }
        }
        return nil
    }

    static func remedyForUnknown(_ path: String) -> String {
        "find it with: sudo fuser -v \(path) (relayd sees its own user's programs only)"
    }

    /// Names in a directory; none when it cannot be read.
    package static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}
