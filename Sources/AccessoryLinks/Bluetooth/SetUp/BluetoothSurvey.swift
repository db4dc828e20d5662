/// Looks at what a `bluetooth:` address needs of this machine, as `relayctl doctor` does. It changes nothing,
/// starts nothing and connects to nobody.
package enum BluetoothSurvey {
    /// - Parameter registrar: Who would have registered the service that the address is about.
    /// - Returns: nil when the address is not one of Bluetooth's. Blocks for five seconds at most.
    package static func look(
        at address: String, registrar: BluetoothChecklist.Registrar
    ) -> BluetoothChecklist? {
        guard let address = try? AccessoryAddress(address),
            let transport = try? TransportCatalog.transport(for: address) as? BluetoothTransport
        else { return nil }
        return BluetoothChecklist(transport.wish, objects(), .now(), registrar: registrar)
    }

    static func objects() -> Result<BlueZObjects, BusFailure> {
        do throws(BusFailure) {
            return .success(try BlueZObjects.now())
        } catch {
            return .failure(error)
        }
    }
}
