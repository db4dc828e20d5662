import SDLProtocol

/// The gadget as files: what has to be made in configfs, in which order, and how it is removed again. Values only;
/// `GadgetComposer` carries the steps out, as root.
///
/// The gadget has one FunctionFS function, which only the user that relayd runs as can open. That user may also set
/// the gadget's identity and its controller, and nothing else.
package struct GadgetLayout: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case makeDirectory(String)
        /// A directory that may already exist and may stay: not the gadget's own.
        case makeParent(String)
        case write(String, String)
        case link(String, to: String)
        case mount(String, source: String, options: String)
        case give(String, user: UInt32, group: UInt32)
        case unmount(String)
        case removeDirectory(String)
        case removeLink(String)
    }

    /// The directories involved; tests use others.
    package struct Places: Hashable, Sendable {
        package var gadgets = "/sys/kernel/config/usb_gadget"
        package var controllers = "/sys/class/udc"
        /// On devtmpfs: nothing in it survives a restart of the machine.
        package var functions = "/dev/usb-ffs"

        package init() {}
    }

    package static let name = "relayd"

    package let places: Places
    /// The user and group that it is composed for.
    package let user: UInt32
    package let group: UInt32

    package init(_ places: Places = Places(), user: UInt32 = 0, group: UInt32 = 0) {
        (self.places, self.user, self.group) = (places, user, group)
    }

    package var gadget: String { "\(places.gadgets)/\(Self.name)" }
    /// Where FunctionFS is mounted: endpoint 0 is `ep0` in it.
    package var functionFS: String { "\(places.functions)/\(Self.name)" }
    package var controllerFile: String { "\(gadget)/UDC" }
    package var vendorFile: String { "\(gadget)/idVendor" }
    package var productFile: String { "\(gadget)/idProduct" }

    private var strings: String { "\(gadget)/strings/0x409" }
    private var configuration: String { "\(gadget)/configs/c.1" }
    private var configurationStrings: String { "\(configuration)/strings/0x409" }
    private var function: String { "\(gadget)/functions/ffs.\(Self.name)" }
    private var functionLink: String { "\(configuration)/ffs.\(Self.name)" }

    /// The files that relayd writes itself, at each start and when it comes back as an accessory.
    package var filesOfRelayd: [String] {
        [controllerFile, vendorFile, productFile]
            + ["manufacturer", "product", "serialnumber"].map { "\(strings)/\($0)" }
    }

    /// Describes itself as a phone does: one configuration that draws 500 mA at most. (Whether the machine draws
    /// any current depends on its board and cable.)
    package var compose: [Step] {
        [
            .makeDirectory(gadget),
            .write("\(gadget)/bcdUSB", "0x0200"),
            .makeDirectory(strings),
            .makeDirectory(configuration),
            .write("\(configuration)/MaxPower", "500"),
            .makeDirectory(configurationStrings),
            .write("\(configurationStrings)/configuration", "accessory"),
            .makeDirectory(function),
            .link(functionLink, to: function),
            .makeParent(places.functions),
            .makeDirectory(functionFS),
            .mount(
                functionFS, source: Self.name,
                options: "uid=\(user),gid=\(group),rmode=0500,fmode=0600"),
        ] + filesOfRelayd.map { .give($0, user: user, group: group) }
    }

    /// In reverse order: each step makes the next one possible, and none fails if there is nothing to remove. The
    /// directories that the kernel has made go with the gadget.
    package var remove: [Step] {
        [
            .write(controllerFile, "\n"),
            .unmount(functionFS),
            .removeDirectory(functionFS),
            .removeDirectory(places.functions),
            .removeLink(functionLink),
            .removeDirectory(configurationStrings),
            .removeDirectory(configuration),
            .removeDirectory(function),
            .removeDirectory(strings),
            .removeDirectory(gadget),
        ]
    }

    /// What is written before the gadget goes on the bus, in this order; the controller's name comes last.
    package func identity(
        _ face: AccessoryOnEndpointZero.Face, _ options: GadgetOptions, serial: String
    ) -> [(file: String, content: String)] {
        let (vendor, product) =
            face == .phone
            ? (options.phone.vendor, options.phone.product)
            : (AndroidAccessory.vendor, options.accessoryProduct)
        return [
            (vendorFile, "0x\(vendor.hexDigits)"),
            (productFile, "0x\(product.hexDigits)"),
            ("\(strings)/manufacturer", options.phone.manufacturer),
            ("\(strings)/product", options.phone.name),
            ("\(strings)/serialnumber", serial),
        ]
    }
}

extension GadgetLayout.Step: CustomStringConvertible {
    /// A command that does the same.
    package var description: String {
        switch self {
        case .makeDirectory(let path), .makeParent(let path): "mkdir -p \(path)"
        case .write(let path, "\n"): "echo > \(path)"
        case .write(let path, let content): "echo \(content) > \(path)"
        case .link(let path, let target): "ln -s \(target) \(path)"
        case .mount(let path, let source, let options):
            "mount -t functionfs -o \(options) \(source) \(path)"
        case .give(let path, let user, let group): "chown \(user):\(group) \(path)"
        case .unmount(let path): "umount \(path)"
        case .removeDirectory(let path): "rmdir \(path)"
        case .removeLink(let path): "rm \(path)"
        }
    }
}
