import Testing

@testable import AccessoryLinks

@Suite("GadgetLayout")
struct GadgetLayoutTests {
    private let layout = GadgetLayout(user: 990, group: 980)

    @Test("composed from the outside in, as these commands would")
    func compose() {
        let gadget = "/sys/kernel/config/usb_gadget/relayd"
        #expect(
            layout.compose.map(\.description) == [
                "mkdir -p \(gadget)",
                "echo 0x0200 > \(gadget)/bcdUSB",
                "mkdir -p \(gadget)/strings/0x409",
                "mkdir -p \(gadget)/configs/c.1",
                "echo 500 > \(gadget)/configs/c.1/MaxPower",
                "mkdir -p \(gadget)/configs/c.1/strings/0x409",
                "echo accessory > \(gadget)/configs/c.1/strings/0x409/configuration",
                "mkdir -p \(gadget)/functions/ffs.relayd",
                "ln -s \(gadget)/functions/ffs.relayd \(gadget)/configs/c.1/ffs.relayd",
                "mkdir -p /dev/usb-ffs",
                "mkdir -p /dev/usb-ffs/relayd",
                "mount -t functionfs -o uid=990,gid=980,rmode=0500,fmode=0600 relayd "
                    + "/dev/usb-ffs/relayd",
                "chown 990:980 \(gadget)/UDC",
                "chown 990:980 \(gadget)/idVendor",
                "chown 990:980 \(gadget)/idProduct",
                "chown 990:980 \(gadget)/strings/0x409/manufacturer",
                "chown 990:980 \(gadget)/strings/0x409/product",
                "chown 990:980 \(gadget)/strings/0x409/serialnumber",
            ])
    }

    @Test("removed from the inside out: off the bus first, every directory after what is in it")
    func remove() throws {
        let gadget = "/sys/kernel/config/usb_gadget/relayd"
        #expect(
            layout.remove.map(\.description) == [
                "echo > \(gadget)/UDC",
                "umount /dev/usb-ffs/relayd",
                "rmdir /dev/usb-ffs/relayd",
                "rmdir /dev/usb-ffs",
                "rm \(gadget)/configs/c.1/ffs.relayd",
                "rmdir \(gadget)/configs/c.1/strings/0x409",
                "rmdir \(gadget)/configs/c.1",
                "rmdir \(gadget)/functions/ffs.relayd",
                "rmdir \(gadget)/strings/0x409",
                "rmdir \(gadget)",
            ])
    }

    @Test("everything that is made is removed")
    func leavesNothing() {
        var made: Set<String> = []
        for step in layout.compose {
            switch step {
            case .makeDirectory(let path), .makeParent(let path), .link(let path, _):
                made.insert(path)
            case .mount(let path, _, _): made.insert("mount \(path)")
            default: break
            }
        }
        for step in layout.remove {
            switch step {
            case .removeDirectory(let path), .removeLink(let path):
                #expect(made.remove(path) != nil, "\(path)")
                // None of the gadget's own entries is left in it; the kernel removes its own groups with it.
                #expect(!made.contains { $0.hasPrefix("\(path)/") }, "\(path)")
            case .unmount(let path): #expect(made.remove("mount \(path)") != nil)
            default: break
            }
        }
        #expect(made == [])
    }

    @Test("a phone, and the same phone as an accessory")
    func identity() throws {
        let options = try GadgetOptions(
            AccessoryAddress("gadget:?vid=4e8&pid=6860&manufacturer=M&product=P&adb=yes"))
        let phone = layout.identity(.phone, options, serial: "S").map(\.content)
        #expect(phone == ["0x04e8", "0x6860", "M", "P", "S"])
        let accessory = layout.identity(.accessory, options, serial: "S").map(\.content)
        #expect(accessory == ["0x18d1", "0x2d01", "M", "P", "S"])
        #expect(
            layout.identity(.phone, options, serial: "S").map(\.file)
                .allSatisfy(layout.filesOfRelayd.contains))
    }
}
