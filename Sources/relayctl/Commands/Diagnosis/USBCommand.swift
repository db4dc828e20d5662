import AccessoryLinks
import ArgumentParser
import ControlAPI

/// `relayctl usb`: the USB part of `relayctl devices`, under its old name and with its old JSON.
struct USBCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "usb",
        abstract: "List USB devices: the USB part of relayctl devices, under its old name.",
        discussion: """
            relayctl devices shows USB devices and serial lines, and judges with the rights of a \
            running relayd. This command stays for scripts: it looks at USB only, with the rights of \
            who types it, and its JSON is what it was.

            EXIT CODES
              0  done; with an address: exactly one device fits, and it may be opened
              1  with an address: no device fits, several do, or it may not be opened
              64 the command line is wrong
            """,
        shouldDisplay: false)

    @Argument(help: "A USB address, as for relayd --accessory.")
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

    /// The USB device a running relayd is set to. This command also works without one.
    private func accessory() async -> USBSelector? {
        guard address == nil, let status = try? await socket.client().status().value.accessory,
            status.kind == USBTransport.scheme
        else { return nil }
        return try? USBSelector(AccessoryAddress(status.address))
    }

    private func selector() throws -> USBSelector? {
        guard let address else { return nil }
        do throws(AddressError) {
            return try USBSelector(typed: address)
        } catch {
            throw ValidationError(SafeText.clean(error.message))
        }
    }
}

extension USBSelector {
    /// An address as people type it, with or without "usb:".
    init(typed address: String) throws(AddressError) {
        try self.init(
            AccessoryAddress(address.lowercased().hasPrefix("usb:") ? address : "usb:\(address)"))
    }
}
