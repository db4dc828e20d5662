import Glibc

/// Carries out the steps of `GadgetLayout`, as root: used by `relayctl setup gadget` and the unit
/// relayd-gadget.service, never by relayd itself.
package struct GadgetComposer: Sendable {
    let layout: GadgetLayout
    /// mount(2) and umount(2) of FunctionFS; tests replace them. Each returns 0 or an errno value.
    var mount: @Sendable (_ path: String, _ source: String, _ options: String) -> CInt = {
        Glibc.mount($1, $0, "functionfs", UInt(MS_NOSUID | MS_NODEV | MS_NOEXEC), $2) == 0
            ? 0 : errno
    }
    var unmount: @Sendable (_ path: String) -> CInt = { umount2($0, 0) == 0 ? 0 : errno }

    package init(_ layout: GadgetLayout) { self.layout = layout }

    /// Whether there is something to remove.
    package var isComposed: Bool { Self.exists(layout.gadget) || Self.exists(layout.functionFS) }

    /// Composes the gadget, after removing what an earlier attempt has left. On failure nothing stays.
    package func compose() throws(LinkProblem) {
        try remove()
        for step in layout.compose {
            let error = carryOut(step)
            guard error == 0 else {
                try? remove()
                throw problem(step, errno: error)
            }
        }
    }

    /// Removes as much of the gadget as there is.
    package func remove() throws(LinkProblem) {
        for step in layout.remove {
            let error = carryOut(step)
            switch (step, error) {
            case (_, 0), (_, ENOENT), (_, ENODEV): continue
            // Not mounted; not a mount point; the directory still has another function.
            case (.unmount, EINVAL), (.removeDirectory(layout.places.functions), ENOTEMPTY),
                (.removeDirectory(layout.places.functions), EBUSY):
                continue
            default: throw problem(step, errno: error)
            }
        }
    }

    private func carryOut(_ step: GadgetLayout.Step) -> CInt {
        switch step {
        case .makeDirectory(let path): Self.result(mkdir(path, 0o755))
        case .makeParent(let path): mkdir(path, 0o755) == 0 || errno == EEXIST ? 0 : errno
        case .write(let path, let content): GadgetFile.write(path, content)
        case .link(let path, let target): Self.result(symlink(target, path))
        case .mount(let path, let source, let options): mount(path, source, options)
        case .give(let path, let user, let group): Self.result(chown(path, user, group))
        case .unmount(let path): Self.exists(path) ? unmount(path) : 0
        case .removeDirectory(let path): Self.result(rmdir(path))
        case .removeLink(let path): Self.result(unlink(path))
        }
    }

    private static func result(_ code: CInt) -> CInt { code == 0 ? 0 : errno }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private func problem(_ step: GadgetLayout.Step, errno error: CInt) -> LinkProblem {
        let command = "\(step)"
        switch (step, error) {
        case (.makeDirectory(layout.gadget), ENOENT), (.makeDirectory(layout.gadget), EPERM):
            return LinkProblem(
                .unsupported,
                "\(layout.places.gadgets) does not exist: this kernel has no USB gadgets, "
                    + "or its module is not loaded",
                remedy:
                    "modprobe libcomposite; if that fails, the kernel needs CONFIG_USB_CONFIGFS_F_FS"
            )
        case (.mount, ENODEV):
            return LinkProblem(
                .unsupported, "the kernel has no FunctionFS",
                remedy:
                    "modprobe usb_f_fs; if that fails, the kernel needs CONFIG_USB_CONFIGFS_F_FS")
        case (.unmount, EBUSY):
            return LinkProblem(
                .busy, "\(layout.functionFS) is in use: relayd runs with it",
                remedy: "stop relayd first")
        case (_, EACCES), (_, EPERM), (_, EROFS):
            return LinkProblem(
                .permissionDenied, "\"\(command)\" is not allowed: \(systemMessage(error))",
                remedy: "run it as root")
        default: return .system("\"\(command)\" failed", errno: error)
        }
    }
}
