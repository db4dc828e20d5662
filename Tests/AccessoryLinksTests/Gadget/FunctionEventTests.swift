import Testing

@testable import AccessoryLinks

@Suite("FunctionEvent")
struct FunctionEventTests {
    private func parse(_ bytes: [UInt8]) -> [FunctionEvent] {
        bytes.withUnsafeBytes { FunctionEvent.parse($0) }
    }

    @Test("a setup packet is read field by field")
    func setup() {
        let bytes: [UInt8] = [
            0x40,  // bmRequestType: to the device, a vendor's
            52,  // bRequest
            0x02, 0x01,  // wValue
            0x05, 0x00,  // wIndex
            0x00, 0x01,  // wLength
            4, 0, 0, 0,  // FUNCTIONFS_SETUP, padding
        ]
        let request = SetupRequest(type: 0x40, request: 52, value: 0x0102, index: 5, length: 256)
        #expect(parse(bytes) == [.setup(request)])
        #expect(!request.isIn)
        #expect(SetupRequest(type: 0xC0, request: 51).isIn)
    }

    @Test("one read gives several events, in their order, those of later kernels too")
    func several() {
        let kinds: [UInt8] = [0, 2, 5, 6, 3, 1, 9]
        let bytes = kinds.flatMap { [UInt8](repeating: 0xAA, count: 8) + [$0, 0, 0, 0] }
        #expect(
            parse(bytes) == [.bind, .enable, .suspend, .resume, .disable, .unbind, .unknown(9)])
    }

    @Test("half an event is none")
    func half() {
        #expect(parse([]) == [])
        #expect(parse([UInt8](repeating: 2, count: 11)) == [])
        #expect(parse([UInt8](repeating: 2, count: 23)) == [.enable])
    }
}
