/// Which of the devices that are plugged in an address means, and why not the others. Decides on
/// descriptions alone: no device is opened to find out. `USBPumpThread` and `relayctl usb` ask.
extension USBSelector {
    /// What one device is to this address.
    package enum Verdict: Hashable, Sendable {
        /// Its pipes can be opened.
        case opens(USBPipes)
        /// A phone, to be switched into accessory mode first.
        case switches
        /// The right device, but of no use: why, as half a sentence.
        case unusable(String)
        /// Another device than the one that is meant: why, as half a sentence.
        case other(String)
    }

    package enum Choice: Hashable, Sendable {
        case open(USBDeviceDescription, USBPipes)
        case switchToAccessory(USBDeviceDescription)
    }

    package func verdict(on device: USBDeviceDescription) -> Verdict {
        if let reason = mismatch(device) { return .other(reason) }
        if switchesToAccessory, !Self.isInAccessoryMode(device) { return .switches }
        do throws(USBPipes.Missing) {
            return .opens(try USBPipes.choose(of: device, for: self))
        } catch {
            return .unusable(error.reason)
        }
    }

    /// The one device to open.
    ///
    /// - Throws: `.absent`, `.ambiguous` or `.unsupported`.
    package func choose(among devices: [USBDeviceDescription]) throws(LinkProblem) -> Choice {
        var candidates = devices.filter { mismatch($0) == nil }
        if switchesToAccessory {
            // The phone itself, before a phone in accessory mode that may be another one.
            let phones = candidates.filter { !Self.isInAccessoryMode($0) }
            if !phones.isEmpty { candidates = phones }
        }
        guard let device = candidates.first else { throw absent(among: devices) }
        guard candidates.count == 1 else { throw ambiguous(candidates) }
        switch verdict(on: device) {
        case .opens(let pipes): return .open(device, pipes)
        case .switches: return .switchToAccessory(device)
        case .unusable(let reason), .other(let reason):
            throw LinkProblem(
                .unsupported, "\(device.placeAndName) cannot be the head unit: \(reason)",
                remedy: "run relayctl usb '\(address)' to see what it has, and correct the address")
        }
    }

    package static func isInAccessoryMode(_ device: USBDeviceDescription) -> Bool {
        device.vendor == AndroidAccessory.vendor
            && AndroidAccessory.products.contains(device.product)
    }

    /// Why this is another device; nil when it is the one.
    private func mismatch(_ device: USBDeviceDescription) -> String? {
        if let identifier {
            let isNamed =
                device.vendor == identifier.vendor && device.product == identifier.product
            guard isNamed || switchesToAccessory && Self.isInAccessoryMode(device) else {
                return "another device than "
                    + USBText.identifier(identifier.vendor, identifier.product)
            }
        } else if !Self.isInAccessoryMode(device) {
            let isAudio =
                device.vendor == AndroidAccessory.vendor
                && AndroidAccessory.audioOnlyProducts.contains(device.product)
            return isAudio
                ? "in accessory mode for audio only" : "no phone in accessory mode"
        }
        if let serial, device.serial != serial {
            return device.serial.map { "its serial number is \($0)" } ?? "it has no serial number"
        }
        if let portPath, device.portPath != portPath { return "it is at port \(device.portPath)" }
        return nil
    }
}

// MARK: - Problems

extension USBSelector {
    private func absent(among devices: [USBDeviceDescription]) -> LinkProblem {
        // The same model with another serial number or at another port is what people want to know.
        let sameKind = devices.filter { device in
            identifier.map { device.vendor == $0.vendor && device.product == $0.product }
                ?? Self.isInAccessoryMode(device)
        }
        if let other = sameKind.first {
            let wanted = [serial.map { "serial=\($0)" }, portPath.map { "bus=\($0)" }]
                .compactMap { $0 }.joined(separator: " and ")
            let found =
                "port \(other.portPath) with "
                + (other.serial.map { "serial number \($0)" } ?? "no serial number")
            return LinkProblem(
                .absent, "no USB device \(name) with \(wanted) is plugged in; one is at \(found)",
                remedy: "plug it in there, or correct the accessory address")
        }
        switch device {
        case .accessoryMode:
            return LinkProblem(
                .absent, "no phone in accessory mode is plugged in",
                remedy: "plug it in; to have relayd switch it, name it: usb:VID:PID?aoa=switch")
        case .openXC, .identifier:
            return LinkProblem(
                .absent, "no USB device \(name) is plugged in",
                remedy: "plug it in; relayd opens it as soon as it appears")
        }
    }

    private func ambiguous(_ candidates: [USBDeviceDescription]) -> LinkProblem {
        let places = candidates.map { device in
            "at port \(device.portPath) with "
                + (device.serial.map { "serial number \($0)" } ?? "no serial number")
        }
        let serials = Set(candidates.compactMap(\.serial))
        let separator = address.contains("?") ? "&" : "?"
        let remedy =
            if serials.count == candidates.count, let first = candidates[0].serial {
                "add \(separator)serial=\(first) (or the other's) to the accessory address"
            } else {
                "add \(separator)bus=\(candidates[0].portPath) (or the other's) "
                    + "to the accessory address"
            }
        return LinkProblem(
            .ambiguous,
            "\(candidates.count) USB devices fit \(name): \(places.joined(separator: ", "))",
            remedy: remedy)
    }

    /// The device as the address names it: `1bc4:0001`.
    private var name: String {
        switch device {
        case .identifier(let vendor, let product): USBText.identifier(vendor, product)
        case .openXC: "1bc4:0001 (OpenXC)"
        case .accessoryMode: "in accessory mode"
        }
    }
}
