import Glibc

/// What `relayctl setup gadget` does: enables a drop-in for the systemd unit, or composes the gadget at once.
package struct GadgetSetUp: RoleSetUp {
    private enum Way {
        case dropIn(ServiceDropIn)
        case compose(GadgetComposer)
    }

    private let way: Way

    init(_ dropIn: ServiceDropIn) { way = .dropIn(dropIn) }
    package init(_ composer: GadgetComposer) { way = .compose(composer) }

    /// The set-up by drop-in; nil unless systemd runs and relayd is installed as one of its services.
    package static func ofSystemd() -> GadgetSetUp? {
        ServiceDropIn(role: "gadget").map { GadgetSetUp($0) }
    }

    /// - Parameter name: the user that relayd runs as; nil for whoever runs this.
    /// - Returns: nil when there is no such user.
    package static func composing(for name: String?) -> GadgetSetUp? {
        var (user, group) = (getuid(), getgid())
        if let name {
            guard let entry = getpwnam(name) else { return nil }
            (user, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        }
        return GadgetSetUp(GadgetComposer(GadgetLayout(user: user, group: group)))
    }

    var isSetUp: Bool {
        switch way {
        case .dropIn(let dropIn): dropIn.isEnabled
        case .compose(let composer): composer.isComposed
        }
    }

    package var doing: [String] {
        guard !isSetUp else { return [] }
        return switch way {
        case .dropIn(let dropIn): dropIn.enabling
        case .compose(let composer): composer.layout.compose.map(\.description)
        }
    }

    package var undoing: [String] {
        guard isSetUp else { return [] }
        return switch way {
        case .dropIn(let dropIn): dropIn.disabling
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
        case .dropIn(let dropIn): try dropIn.enable()
        }
    }

    package func undo() throws(LinkProblem) {
        switch way {
        case .compose(let composer): try composer.remove()
        case .dropIn(let dropIn): try dropIn.disable()
        }
    }
}
