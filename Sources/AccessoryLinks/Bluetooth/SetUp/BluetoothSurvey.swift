/// Examines what a `bluetooth:` address needs from this machine, as `relayctl doctor` does. It changes nothing,
/// starts nothing and connects to nothing.
package enum BluetoothSurvey {
    /// - Parameter registrar: Who would have registered the service that the address asks for.
    /// - Returns: nil when it is not a Bluetooth address. Blocks for five seconds at most.
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
