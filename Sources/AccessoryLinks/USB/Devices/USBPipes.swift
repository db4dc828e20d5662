/// The pair of bulk endpoints that carries a link, and how it is found in a device's descriptors.
///
/// Both endpoints belong to one interface, which is then the only one claimed.
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
    }

    /// The first bulk pair within one interface that the address allows. Interfaces for accessories (class FF,
    /// subclass FF) go first, other vendor-specific ones next. Interfaces with another known purpose, such as a
    /// memory stick's, are opened only when the address names them or one of their endpoints.
    package static func choose(
        of device: USBDeviceDescription, for selector: USBSelector
    ) throws(Missing) -> USBPipes {
        guard device.isConfigured else { throw Missing(reason: "it has no active configuration") }
        let allowed = device.interfaces.filter { interface in
            selector.interface.map { $0 == interface.number } != false
                && selector.alternate.map { $0 == interface.alternate } != false
        }
        guard !allowed.isEmpty else { throw noInterface(of: device, selector) }
        let wanted = selector.endpoints(of: device)
        try requireBulk(wanted.in, in: allowed)
        try requireBulk(wanted.out, in: allowed)

        var best: (rank: Int, interface: USBDeviceDescription.Interface, in: UInt8, out: UInt8)?
        for interface in allowed where selector.namesInterface || interface.otherPurpose == nil {
            let bulk = interface.endpoints.filter { $0.kind == .bulk }
            let input = bulk.first {
                $0.isIn && wanted.in.map { [address = $0.address] in $0 == address } != false
            }
            let output = bulk.first {
                !$0.isIn && wanted.out.map { [address = $0.address] in $0 == address } != false
            }
            guard let input, let output else { continue }
            let rank = rank(of: interface)
            if best.map({ rank < $0.rank }) != false {
                best = (rank, interface, input.address, output.address)
            }
        }
        guard let best else { throw noPair(allowed, wanted) }
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

    /// Checks that an endpoint which the address names exists and is a bulk one.
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
        _ interfaces: [USBDeviceDescription.Interface], _ wanted: (in: UInt8?, out: UInt8?)
    ) -> Missing {
        if let input = wanted.in, let output = wanted.out {
            return Missing(
                reason: "endpoints \(USBText.byte(input)) and \(USBText.byte(output)) "
                    + "belong to different interfaces; expected one interface with both")
        }
        if let other = interfaces.first(where: { $0.otherPurpose != nil && $0.hasBulkPair }),
            let purpose = other.otherPurpose
        {
            return Missing(
                reason: "interface \(other.number) is \(purpose); "
                    + "interface=\(other.number) would open it all the same")
        }
        let classes = interfaces.map { "\($0.number) class \(USBText.byte($0.classCode))" }
        return Missing(
            reason: "none of its interfaces has a bulk endpoint each way "
                + "(interface \(classes.joined(separator: ", ")))")
    }
}

extension USBSelector {
    /// Whether the address names more than the device: then every interface that it allows is meant.
    fileprivate var namesInterface: Bool {
        interface != nil || endpointIn != nil || endpointOut != nil
    }
}

extension USBDeviceDescription.Interface {
    fileprivate var hasBulkPair: Bool {
        let bulk = endpoints.filter { $0.kind == .bulk }
        return bulk.contains(where: \.isIn) && bulk.contains { !$0.isIn }
    }
}
