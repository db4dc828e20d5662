import DidYouMean

/// Every kind of transport relayd knows. A new one is a folder beside this file and one line here.
package enum TransportCatalog {
    package static let all: [any AccessoryTransport.Type] = [
        SimTransport.self,
        ReplayTransport.self,
        TCPTransport.self,
        SerialTransport.self,
        BluetoothTransport.self,
        RFCOMMTransport.self,
        USBTransport.self,
        GadgetTransport.self,
    ]

    package static var schemes: [String] { all.map { $0.scheme } }

    /// The transport an address asks for, with its path and options checked.
    package static func transport(
        for address: AccessoryAddress
    ) throws(AddressError) -> any AccessoryTransport {
        guard let kind = all.first(where: { $0.scheme == address.scheme }) else {
            let hint =
                Spelling.nearest(address.scheme, in: schemes).map {
                    "; did you mean \"\($0)\"?"
                } ?? ""
            throw AddressError(
                "unknown transport \"\(address.scheme)\"; "
                    + "known: \(schemes.joined(separator: ", "))\(hint)")
        }
        return try kind.init(address)
    }
}
