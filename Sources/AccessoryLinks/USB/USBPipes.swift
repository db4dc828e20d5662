/// The pair of bulk endpoints a link is made of, and how it is found in a device's descriptors.
///
/// Both endpoints are of one interface, which is then the only one claimed.
package struct USBPipes: Hashable, Sendable {
    package let interface: UInt8
    package let alternate: UInt8
    /// Whether the interface has other settings, so that this one has to be chosen.
    package let choosesAlternate: Bool
    package let endpointIn: UInt8
    package let endpointOut: UInt8
    /// The kernel driver that holds the interface.
    package let driver: String?

    /// Why a device has no such pair, as half a sentence.
    package struct Missing: Error, Hashable, Sendable {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    /// The first bulk pair within one interface that the address allows. Interfaces for
    /// accessories (class FF, subclass FF) go first, other vendor-specific ones next: an
    /// accessory's comes before its adb interface, and a printer's before nothing.
    package static func choose(
        of device: USBDeviceDescription, for selector: USBSelector
    ) throws(Missing) -> USBPipes {
        guard device.isConfigured else { throw Missing(reason: "it has no active configuration") }
        let allowed = device.interfaces.filter { interface in
            selector.interface.map { $0 == interface.number } != false
                && selector.alternate.map { $0 == interface.alternate } != false
        }
        guard !allowed.isEmpty else { throw noInterface(of: device, selector) }
        try requireBulk(selector.endpointIn, in: allowed)
        try requireBulk(selector.endpointOut, in: allowed)

        var best: (rank: Int, interface: USBDeviceDescription.Interface, in: UInt8, out: UInt8)?
        for interface in allowed {
            let bulk = interface.endpoints.filter { $0.kind == .bulk }
            let input = bulk.first {
                $0.isIn
                    && selector.endpointIn.map { [address = $0.address] in $0 == address } != false
            }
            let output = bulk.first {
                !$0.isIn
                    && selector.endpointOut.map { [address = $0.address] in $0 == address } != false
            }
            guard let input, let output else { continue }
            let rank = rank(of: interface)
            if best.map({ rank < $0.rank }) != false {
                best = (rank, interface, input.address, output.address)
            }
        }
        guard let best else { throw noPair(allowed, selector) }
        let settings = device.interfaces.count { $0.number == best.interface.number }
        return USBPipes(
            interface: best.interface.number, alternate: best.interface.alternate,
            choosesAlternate: settings > 1, endpointIn: best.in, endpointOut: best.out,
            driver: best.interface.driver)
    }

    /// Lower is better.
    private static func rank(of interface: USBDeviceDescription.Interface) -> Int {
        switch (interface.classCode, interface.subclass) {
        case (0xFF, 0xFF): 0
        case (0xFF, _): 1
        default: 2
        }
    }
}

// MARK: - Why not

extension USBPipes {
    private static func noInterface(
        of device: USBDeviceDescription, _ selector: USBSelector
    ) -> Missing {
        let known = device.interfaces.map {
            $0.alternate == 0 ? "\($0.number)" : "\($0.number) alt \($0.alternate)"
        }
        let wanted = [
            selector.interface.map { "interface \($0)" }, selector.alternate.map { "alt \($0)" },
        ].compactMap { $0 }.joined(separator: " ")
        guard !known.isEmpty else { return Missing(reason: "it has no interfaces") }
        return Missing(
            reason: "it has no \(wanted.isEmpty ? "interface" : wanted); "
                + "it has interface \(known.joined(separator: ", "))")
    }

    /// An endpoint that the address names exists and is a bulk one.
    private static func requireBulk(
        _ address: UInt8?, in interfaces: [USBDeviceDescription.Interface]
    ) throws(Missing) {
        guard let address else { return }
        let found = interfaces.flatMap(\.endpoints).filter { $0.address == address }
        guard let first = found.first else {
            let known = interfaces.flatMap(\.endpoints).map { USBText.byte($0.address) }
            throw Missing(
                reason: "it has no endpoint \(USBText.byte(address)); it has "
                    + (known.isEmpty ? "none" : known.joined(separator: ", ")))
        }
        guard found.contains(where: { $0.kind == .bulk }) else {
            throw Missing(
                reason: "endpoint \(USBText.byte(address)) is \(first.kind); expected bulk")
        }
    }

    private static func noPair(
        _ interfaces: [USBDeviceDescription.Interface], _ selector: USBSelector
    ) -> Missing {
        if let input = selector.endpointIn, let output = selector.endpointOut {
            return Missing(
                reason: "endpoints \(USBText.byte(input)) and \(USBText.byte(output)) "
                    + "belong to different interfaces; expected one interface with both")
        }
        let classes = interfaces.map { "\($0.number) class \(USBText.byte($0.classCode))" }
        return Missing(
            reason: "none of its interfaces has a bulk endpoint each way "
                + "(interface \(classes.joined(separator: ", ")))")
    }
}
