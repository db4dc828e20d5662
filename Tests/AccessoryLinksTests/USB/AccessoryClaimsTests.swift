import Testing

@testable import AccessoryLinks

@Suite("AccessoryClaims")
struct AccessoryClaimsTests {
    private let phone = USBDevice.phone()
    private let left = USBDevice.accessory(ports: [5], serial: "LEFT")

    /// The port of the device that a relayd with this address opens or switches; nil if none.
    private func port(
        _ address: String = "usb:04e8:6860?aoa=switch", among devices: [USBDevice],
        _ claims: AccessoryClaims
    ) throws -> String? {
        do {
            switch try selector(address).choose(among: devices, claims) {
            case .open(let device, _): return device.portPath
            case .switchToAccessory(let phone): return "switch \(phone.portPath)"
            }
        } catch let problem as LinkProblem {
            #expect([.absent, .ambiguous].contains(problem.code))
            return nil
        }
    }

    @Test("a phone that relayd has switched is its own when it is back at the same port")
    func own() throws {
        var claims = AccessoryClaims(among: [phone])
        claims.switches(phone)
        claims.appeared(.accessory())
        #expect(claims.claim(on: .accessory()) == .own)
        #expect(try port(among: [left, .accessory()], claims) == "1-2.3")
        // Another phone of the same kind beside it does not change that.
        #expect(try port(among: [.phone(ports: [4]), .accessory()], claims) == "1-2.3")
    }

    @Test("one that appears in accessory mode where relayd has switched none is somebody else's")
    func somebodyElses() throws {
        let claims = AccessoryClaims(among: [])
        #expect(claims.claim(on: left) == .none)
        #expect(try port(among: [left], claims) == nil)
        #expect(try port(among: [left, phone], claims) == "switch 1-2.3")
        let named = try selector("usb:04e8:6860?aoa=switch")
        #expect(
            named.verdict(on: left, claims)
                == .other("in accessory mode, but this relayd has not switched it"))
        let problem = #expect(throws: LinkProblem.self) {
            try named.choose(among: [left], claims)
        }
        #expect(
            problem?.description
                == "no USB device 04e8:6860 is plugged in; the phone in accessory mode at port 1-5 "
                + "was not switched by this relayd; plug the phone in; if it is that one, plug it "
                + "in again, or add &bus=1-5 to the head unit's address")
    }

    @Test("one that was there before relayd is taken while it is the only one and nobody has it")
    func found() throws {
        var claims = AccessoryClaims(among: [left, .mouse])
        #expect(try port(among: [left], claims) == "1-5")
        // The phone that the address names takes precedence.
        #expect(try port(among: [left, phone], claims) == "switch 1-2.3")
        let two = AccessoryClaims(among: [left, .accessory()])
        #expect(try port(among: [left, .accessory()], two) == nil)
        claims.heldByAnother(left)
        #expect(try port(among: [left], claims) == nil)
    }

    @Test("a serial number or a port in the address says it better than any claim")
    func named() throws {
        let claims = AccessoryClaims(among: [])
        let devices = [left, .accessory()]
        #expect(try port("usb:04e8:6860?aoa=switch&bus=1-5", among: devices, claims) == "1-5")
        #expect(
            try port("usb:04e8:6860?aoa=switch&serial=PHONE1", among: devices, claims) == "1-2.3")
    }

    @Test("a claim lasts while the port has this phone, and ends when it has another")
    func ends() {
        var claims = AccessoryClaims(among: [left])
        claims.switches(phone)
        // The phone did not enter accessory mode at once.
        claims.appeared(phone)
        #expect(claims.claim(on: .accessory()) == .own)
        claims.appeared(.phone(ports: [2, 3]).with { $0.product = 0x685C })
        #expect(claims.claim(on: .accessory()) == .none)
        claims.appeared(.phone(ports: [5]))
        #expect(claims.claim(on: left) == .none)
        claims.switches(phone)
        claims.refused(port: phone.portPath)
        #expect(claims.claim(on: .accessory()) == .none)
    }
}
