/// Why an accessory address was refused; the message says what was found, what was expected and
/// what to type. Thrown while an address is read, never while a device is opened.
package struct AddressError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String

    @inline(never)
    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}
