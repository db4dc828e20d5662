import SDLProtocol
import SimulatedAccessory
import Testing

@Suite struct ConfigurationTests {
    @Test("all options of the address are read")
    func reads() throws {
        let configuration = try SimulatedAccessory.Configuration(options: [
            "protocol": "4", "mtu": "65536", "activate": "1.5s", "vehicle-data": "250ms",
            "make": "Bench", "model": "Sim", "lenient": "on",
        ])
        #expect(configuration.isLenient)
        #expect(configuration.protocolVersion == SDLVersion(4))
        #expect(configuration.mtu == 65536)
        #expect(configuration.activationDelay == .milliseconds(1500))
        #expect(configuration.vehicleDataInterval == .milliseconds(250))
        #expect(configuration.make == "Bench" && configuration.model == "Sim")
        let off = try SimulatedAccessory.Configuration(options: [
            "activate": "off", "vehicle-data": "off",
        ])
        #expect(off.activationDelay == nil && off.vehicleDataInterval == nil)
    }

    @Test("an unknown option names the known ones")
    func unknown() {
        let error = #expect(throws: SimulatedAccessory.OptionError.self) {
            try SimulatedAccessory.Configuration(options: ["mut": "1"])
        }
        #expect(
            error?.message
                == "unknown option \"mut\" of sim:; known: activate, lenient, make, model, "
                + "mtu, protocol, vehicle-data")
    }

    @Test(
        "impossible values are refused with what was expected",
        arguments: [
            ("protocol", "6"), ("protocol", "five"), ("mtu", "0"), ("mtu", "131073"),
            ("mtu", "-1"), ("activate", "soon"), ("activate", "-1s"), ("activate", "nans"),
            ("vehicle-data", "0s"), ("vehicle-data", "1h"), ("vehicle-data", "1e99s"),
            ("lenient", "yes"), ("lenient", ""), ("make", ""),
            ("model", String(repeating: "x", count: 101)),
        ])
    func impossible(option: String, value: String) {
        let error = #expect(throws: SimulatedAccessory.OptionError.self) {
            try SimulatedAccessory.Configuration(options: [option: value])
        }
        #expect(error?.message.contains("expected") == true)
        #expect(error?.message.contains(option) == true)
    }
}
