import AccessoryLinks
import ArgumentParser

/// `relayctl setup bluetooth`: lets relayd act as a phone over Bluetooth, and undoes it.
struct SetupBluetoothCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bluetooth",
        abstract: "Let relayd be a phone by Bluetooth (bluetooth:listen).",
        discussion: """
            Says what it would change, asks, and does it. Run it as root.

            Where relayd is a service of systemd, a drop-in is enabled: from then on relayd.service brings \
            bluetooth.service with it and is in the group bluetooth. Otherwise the user who types this (or \
            --user) joins that group. The adapter is switched on, and with --visible head units can \
            see this machine for the next three minutes, and pair with it from now on. 'relayctl doctor' \
            says what is missing after that. --undo leaves the adapter on, and what is paired stays paired; \
            with --visible it hides this machine again.

            EXAMPLES
              sudo relayctl setup bluetooth --visible
              sudo relayctl setup bluetooth --undo

            \(SetupCommand.exitCodes)
            """)

    @Flag(help: "Also let head units see this machine and pair with it.")
    var visible = false

    @Option(
        help: ArgumentHelp(
            "Who runs relayd: a user's name. Joins the group, also where systemd runs.",
            valueName: "name"))
    var user: String?

    @OptionGroup var options: SetupOptions

    func run() async throws {
        guard let setUp = BluetoothSetUp.of(user: user, visible: visible) else {
            throw ValidationError("there is no user \"\(SafeText.clean(user ?? ""))\"")
        }
        try options.carryOut(setUp, role: "bluetooth")
    }
}
