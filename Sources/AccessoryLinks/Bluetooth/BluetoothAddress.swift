import SDLProtocol

/// The address of a Bluetooth device: six bytes, `00:1A:7D:DA:71:13`.
package struct BluetoothAddress: Hashable, Sendable, CustomStringConvertible {
    /// In the order in which they are written.
    let bytes: [UInt8]

    /// Nil when the text is not such an address.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part in
            // `UInt8` would also read a sign.
            part.utf8.count == 2 && part.allSatisfy(\.isHexDigit) ? UInt8(part, radix: 16) : nil
        }
        guard parts.count == 6, bytes.count == 6 else { return nil }
        self.bytes = bytes
    }

    package var description: String {
        bytes.map { $0.hexDigits.uppercased() }.joined(separator: ":")
    }
}
