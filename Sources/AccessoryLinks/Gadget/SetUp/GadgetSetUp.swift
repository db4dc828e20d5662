import Glibc

/// What `relayctl setup gadget` does: enables a drop-in of systemd's unit, or composes the gadget at once.
package struct GadgetSetUp: Sendable {
    private enum Way {
        case dropIn(Place)
        case compose(GadgetComposer)
    }

    /// Of the drop-in.
    struct Place: Sendable {
        /// As the package ships it, which has no effect.
        var shipped: String
        /// Where systemd looks for it.
        var folder = "/etc/systemd/system/relayd.service.d"
        /// Asks systemd to read its units again; returns the program's exit code.
        var reload: @Sendable () -> CInt = { system("systemctl daemon-reload") }

        var enabled: String { "\(folder)/gadget.conf" }
    }

    private let way: Way

    init(_ place: Place) { way = .dropIn(place) }
    package init(_ composer: GadgetComposer) { way = .compose(composer) }

    private static let shippedPlaces = ["/usr/local", "/usr"].map {
        "\($0)/share/relayd/relayd.service.d/gadget.conf"
    }

    /// Where systemd runs and relayd is installed as a service of it; nil elsewhere.
    package static func ofSystemd() -> GadgetSetUp? {
        guard access("/run/systemd/system", F_OK) == 0,
            let shipped = shippedPlaces.first(where: { access($0, R_OK) == 0 })
        else { return nil }
        return GadgetSetUp(Place(shipped: shipped))
    }

    /// - Parameter name: the user relayd runs as; nil for whoever runs this.
    /// - Returns: nil when there is no such user.
    package static func composing(for name: String?) -> GadgetSetUp? {
        var (user, group) = (getuid(), getgid())
        if let name {
            guard let entry = getpwnam(name) else { return nil }
            (user, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        }
        return GadgetSetUp(GadgetComposer(GadgetLayout(user: user, group: group)))
    }

    package var isSetUp: Bool {
        switch way {
        case .dropIn(let place): access(place.enabled, F_OK) == 0
        case .compose(let composer): composer.isComposed
        }
    }

    /// As commands.
    package var doing: [String] {
        switch way {
        case .dropIn(let place):
            [
                "mkdir -p \(place.folder)", "ln -s \(place.shipped) \(place.enabled)",
                "systemctl daemon-reload",
            ]
        case .compose(let composer): composer.layout.compose.map(\.description)
        }
    }

    package var undoing: [String] {
        switch way {
        case .dropIn(let place):
            ["rm \(place.enabled)", "rmdir \(place.folder)", "systemctl daemon-reload"]
        case .compose(let composer): composer.layout.remove.map(\.description)
        }
    }

    package var whatNext: String {
        switch way {
        case .dropIn:
            "Next: accessory: \"gadget:\" in /etc/relayd/relayd.yaml, then systemctl restart relayd."
        case .compose: "Next: relayd --accessory gadget:"
        }
    }

    package func perform() throws(LinkProblem) {
        switch way {
        case .compose(let composer): try composer.compose()
        case .dropIn(let place):
            guard mkdir(place.folder, 0o755) == 0 || errno == EEXIST,
                symlink(place.shipped, place.enabled) == 0
            else { throw Self.failed(place.enabled, errno: errno) }
            try Self.reload(place)
        }
    }

    package func undo() throws(LinkProblem) {
        switch way {
        case .compose(let composer): try composer.remove()
        case .dropIn(let place):
            guard unlink(place.enabled) == 0 || errno == ENOENT else {
                throw Self.failed(place.enabled, errno: errno)
            }
            // Others may have drop-ins there.
            rmdir(place.folder)
            try Self.reload(place)
        }
    }

    private static func failed(_ path: String, errno error: CInt) -> LinkProblem {
        LinkProblem(
            error == EACCES || error == EPERM ? .permissionDenied : .other,
            "\(path): \(systemMessage(error))",
            remedy: error == EACCES || error == EPERM ? "run it as root" : nil)
    }

    private static func reload(_ place: Place) throws(LinkProblem) {
        guard place.reload() == 0 else {
            throw LinkProblem(
                .other, "systemd could not read its units again",
                remedy: "run it as root: systemctl daemon-reload")
        }
    }
}
