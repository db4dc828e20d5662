import AccessoryLinks
import ArgumentParser
import ControlAPI

/// `relayctl usb`: what is plugged in, and what relayd would make of it.
struct USBCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "usb",
        abstract: "List USB devices, and what relayd would open for an address.",
        discussion: """
            relayd does not have to run for this, and no device is opened: what is shown is what \
            the kernel has read from the devices already.

            Without an address every device is listed with the address that opens it, and why \
            relayd cannot open it where that is so; if a relayd runs, which of them it is set to. \
            With an address the device it means is marked, \
            and the others have the reason why not. Where a device may not be opened, the udev \
            rule that would allow it is printed.

            EXAMPLES
              relayctl usb
              relayctl usb usb:openxc
              relayctl usb 'usb:04e8:6860?aoa=switch&serial=R58M'

            EXIT CODES
              0  done; with an address: exactly one device fits, and it may be opened
              1  with an address: no device fits, several do, or it may not be opened
              64 the command line is wrong
            """)

    @Argument(help: "An accessory address, as for relayd --accessory.")
    var address: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        _ = try selector()
    }

    func run() async throws {
        let survey: USBSurvey
        let selector = try selector()
        let accessory = await accessory()
        do throws(LinkProblem) {
            survey = try USBSurvey.now(selector: selector, accessory: accessory)
        } catch {
            Output.current.write("relayctl: \(SafeText.clean("\(error)"))\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        try output.show(String(decoding: APICoding.encode(survey.document), as: UTF8.self)) {
            USBSurveyText(output).render(survey)
        }
        if !survey.isReady { throw ExitCode(ExitStatus.notConnected.rawValue) }
    }

    /// What a running relayd is set to, if that is on USB; nobody has to run for this command.
    private func accessory() async -> USBSelector? {
        guard address == nil, let status = try? await socket.client().status().value.accessory,
            status.kind == USBTransport.scheme
        else { return nil }
        return try? USBSelector(AccessoryAddress(status.address))
    }

    private func selector() throws -> USBSelector? {
        guard let address else { return nil }
        do throws(AddressError) {
            let parsed = try AccessoryAddress(
                address.lowercased().hasPrefix("usb:") ? address : "usb:\(address)")
            return try USBSelector(parsed)
        } catch {
            throw ValidationError(SafeText.clean(error.message))
        }
    }
}
