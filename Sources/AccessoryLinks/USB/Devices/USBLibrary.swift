import CLibUSB

/// The libusb that is loaded; part of `relayctl bugreport`.
package enum USBLibrary {
    /// "1.0.27", with the suffix of a release candidate.
    package static var version: String {
        guard let version = libusb_get_version()?.pointee else { return "unknown" }
        let suffix = version.rc.map { String(cString: $0) } ?? ""
        return "\(version.major).\(version.minor).\(version.micro)\(suffix)"
    }
}
