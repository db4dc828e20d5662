import AccessoryLinks
import ArgumentParser
import Glibc

/// `relayctl setup gadget`: lets relayd make this machine act as a phone, and undoes it.
struct SetupGadgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gadget",
        abstract: "Let relayd make this machine an Android phone (gadget:).",
        discussion: """
            Says what it would change, asks, and does it. Run it as root.

            Where relayd is a service of systemd, a drop-in is enabled: from then on relayd.service brings \
            relayd-gadget.service with it, which composes the gadget before relayd starts and removes it \
            after relayd has ended, however it ends. Otherwise the gadget is composed at once, for the user \
            who types this (or --user), until it is undone or the machine restarts.

            EXAMPLES
              sudo relayctl setup gadget
              sudo relayctl setup gadget --undo

            \(SetupCommand.exitCodes)
            """)

    @Option(
        help: ArgumentHelp(
            "Who runs relayd: a user's name. Composes at once, also where systemd runs.",
            valueName: "name"))
    var user: String?

    @OptionGroup var options: SetupOptions

    func run() async throws { try options.carryOut(setUp(), role: "gadget") }

    private func setUp() throws -> GadgetSetUp {
        if user == nil, let systemd = GadgetSetUp.ofSystemd() { return systemd }
        let name = user ?? getenv("SUDO_USER").map { String(cString: $0) }
        guard let setUp = GadgetSetUp.composing(for: name) else {
            throw ValidationError("there is no user \"\(name ?? "")\"")
        }
        return setUp
    }
}
