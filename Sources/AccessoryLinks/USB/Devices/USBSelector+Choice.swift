/// Which of the plugged-in devices an address means, and why not the others. Decides on descriptions alone: no
/// device is opened to find out. `USBPumpThread` and `relayctl devices` use it.
extension USBSelector {
    /// How one device relates to this address.
    package enum Verdict: Hashable, Sendable {
        /// Its pipes can be opened.
        case opens(USBPipes)
        /// A phone, to be switched into accessory mode first.
        case switches
        /// The right device, but it cannot be used: why, as half a sentence.
        case unusable(String)
        /// Not the device that is meant: why, as half a sentence.
        case other(String)
    }

    package enum Choice: Hashable, Sendable {
        case open(USBDeviceDescription, USBPipes)
        case switchToAccessory(USBDeviceDescription)

        package var device: USBDeviceDescription {
            switch self {
            case .open(let device, _), .switchToAccessory(let device): device
            }
        }
    }

    /// - Parameter claims: nil to judge like a relayd that has just started.
    package func verdict(
        on device: USBDeviceDescription, _ claims: AccessoryClaims? = nil
    ) -> Verdict {
        let claims = claims ?? AccessoryClaims(among: [device])
        if let reason = mismatch(device, claims) { return .other(reason) }
        if switchesToAccessory, !device.isInAccessoryMode { return .switches }
        do throws(USBPipes.Missing) {
            return .opens(try USBPipes.choose(of: device, for: self))
        } catch {
            return .unusable(error.reason)
        }
    }

    /// The one device to open.
    ///
    /// - Parameter claims: nil to choose like a relayd that has just started.
    /// - Throws: `.absent`, `.ambiguous` or `.unsupported`.
    package func choose(
        among devices: [USBDeviceDescription], _ claims: AccessoryClaims? = nil
    ) throws(LinkProblem) -> Choice {
        let claims = claims ?? AccessoryClaims(among: devices)
        var candidates = devices.filter { mismatch($0, claims) == nil }
        if switchesToAccessory {
            // The phone that relayd has switched goes first; then phones still to be switched, before one in
            // accessory mode that may be another one.
            let own = candidates.filter { $0.isInAccessoryMode && claims.claim(on: $0) == .own }
            let phones = candidates.filter { !$0.isInAccessoryMode }
            if let better = [own, phones].first(where: { !$0.isEmpty }) { candidates = better }
        }
        guard let device = candidates.first else { throw absent(among: devices) }
        guard candidates.count == 1 else { throw ambiguous(candidates) }
        switch verdict(on: device, claims) {
        case .opens(let pipes): return .open(device, pipes)
        case .switches: return .switchToAccessory(device)
        case .unusable(let reason), .other(let reason):
            throw LinkProblem(
                .unsupported, "\(device.placeAndName) cannot be the head unit: \(reason)",
                remedy: device.looksLikePhone && !switchesToAccessory
                    ? "if it is an Android phone, add \(separator)aoa=switch to the head unit's address"
                    : "run relayctl devices '\(address)' to see what it has, and correct the address"
            )
        }
    }

    /// Why this is another device; nil when it is the one that is meant.
    private func mismatch(_ device: USBDeviceDescription, _ claims: AccessoryClaims) -> String? {
        if let identifier {
            let isNamed =
                device.vendor == identifier.vendor && device.product == identifier.product
            guard isNamed || switchesToAccessory && device.isInAccessoryMode else {
                return "another device than "
                    + USBText.identifier(identifier.vendor, identifier.product)
            }
            if !isNamed, isAnyOfItsKind, claims.claim(on: device) == .none {
                return "in accessory mode, but this relayd has not switched it"
            }
        } else if !device.isInAccessoryMode {
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

    /// Whether the address leaves open which device of its kind is meant.
    private var isAnyOfItsKind: Bool { serial == nil && portPath == nil }
}

extension USBDeviceDescription {
    package var isInAccessoryMode: Bool {
        vendor == AndroidAccessory.vendor && AndroidAccessory.products.contains(product)
    }
}

// MARK: - Problems

extension USBSelector {
    private func absent(among devices: [USBDeviceDescription]) -> LinkProblem {
        // People want to know of the same model with another serial number or at another port.
        let sameKind = devices.filter { device in
            identifier.map { device.vendor == $0.vendor && device.product == $0.product }
                ?? device.isInAccessoryMode
        }
        if let other = sameKind.first {
            let wanted = [serial.map { "serial=\($0)" }, portPath.map { "bus=\($0)" }]
                .compactMap { $0 }.joined(separator: " and ")
            let found =
                "port \(other.portPath) with "
                + (other.serial.map { "serial number \($0)" } ?? "no serial number")
            return LinkProblem(
                .absent, "no USB device \(name) with \(wanted) is plugged in; one is at \(found)",
                remedy: "plug it in there, or correct the head unit's address")
        }
        if switchesToAccessory, let stray = devices.first(where: \.isInAccessoryMode) {
            return LinkProblem(
                .absent,
                "no USB device \(name) is plugged in; the phone in accessory mode at port "
                    + "\(stray.portPath) was not switched by this relayd",
                remedy: "plug the phone in; if it is that one, plug it in again, or add "
                    + "\(separator)bus=\(stray.portPath) to the head unit's address")
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

    /// The problem to report when a device in accessory mode, which relayd took for its phone because it was there
    /// before, belongs to another program. Nil when `problem` says something else, or the address names the device.
    package func heldByAnother(
        _ device: USBDeviceDescription, _ problem: LinkProblem, _ claims: AccessoryClaims
    ) -> LinkProblem? {
        guard problem.code == .busy, switchesToAccessory, isAnyOfItsKind,
            device.isInAccessoryMode, claims.claim(on: device) == .found
        else { return nil }
        return LinkProblem(
            .busy, "\(problem.message), and this relayd has not switched it to accessory mode",
            remedy: "if it is the phone for this relayd, end that program and plug it in again, or "
                + "add \(separator)bus=\(device.portPath) to the head unit's address")
    }

    private func ambiguous(_ candidates: [USBDeviceDescription]) -> LinkProblem {
        let places = candidates.map { device in
            "at port \(device.portPath) with "
                + (device.serial.map { "serial number \($0)" } ?? "no serial number")
        }
        let serials = Set(candidates.compactMap(\.serial))
        let remedy =
            if serials.count == candidates.count, let first = candidates[0].serial {
                "add \(separator)serial=\(first) (or the other's) to the head unit's address"
            } else {
                "add \(separator)bus=\(candidates[0].portPath) (or the other's) "
                    + "to the head unit's address"
            }
        return LinkProblem(
            .ambiguous,
            "\(candidates.count) USB devices fit \(name): \(places.joined(separator: ", "))",
            remedy: remedy)
    }

    /// The character in front of an option that is added to the address.
    package var separator: String { address.contains("?") ? "&" : "?" }

    /// The device as the address names it: `1bc4:0001`.
    private var name: String {
        switch device {
        case .identifier(let vendor, let product): USBText.identifier(vendor, product)
        case .openXC: "1bc4:0001 (OpenXC)"
        case .accessoryMode: "in accessory mode"
        }
    }
}
