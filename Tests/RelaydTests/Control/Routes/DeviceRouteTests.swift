import ControlAPI
import Dispatch
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import AccessoryLinks
@testable import relayd

@Suite("GET /v1/devices")
struct DeviceRouteTests {
    private static let board = USBDeviceDescription(
        bus: 2, number: 3, ports: [4, 1], vendor: 0x2341, product: 0x43, serial: "B1",
        productName: "Board",
        interfaces: [
            .init(
                number: 1, classCode: 0x0A,
                endpoints: [
                    .init(address: 0x82, kind: .bulk, packetBytes: 64),
                    .init(address: 0x05, kind: .bulk, packetBytes: 64),
                ], driver: "cdc_acm")
        ])

    @Test("it tells what relayd may open, and what stands in the way") func devices() async throws {
        let survey = USBSurvey(
            devices: [Self.board], selector: nil, mayOpen: { _ in false }, rule: { _ in "RULE" })
        let handlers = DeviceHandlers { DeviceList(usb: survey.document.devices) }
        try await ControlTestServer.with(devices: handlers) { server in
            let (status, body) = try await server.send("GET", Routes.devices)
            #expect(status == 200)
            let list = try APICoding.decode(DeviceList.self, from: Array(body.utf8))
            #expect(list.usb.map(\.address) == ["usb:2341:0043"])
            #expect(list.usb[0].mayOpen == false && list.usb[0].udevRule == "RULE")
            #expect(list.usb[0].use == "opens" && list.usb[0].driver == "cdc_acm")
            #expect(list.serial.isEmpty && list.problem == nil)
        }
    }

    @Test("the survey blocks no event loop: the others are answered meanwhile")
    func thread() async throws {
        // The survey continues when another request has been answered.
        let answered = DispatchSemaphore(value: 0)
        let handlers = DeviceHandlers {
            let patience = DispatchTimeInterval.nanoseconds(Int(FramePeer.patience.nanoseconds))
            // On a thread of its own, as surveys are: tests share only as many threads as there are processors.
            let isAnswered = try? await blocking {
                answered.wait(timeout: .now() + patience) == .success
            }
            return DeviceList(
                problem: LinkProblem(
                    .unsupported, isAnswered == true ? "in time" : "never", remedy: "none"))
        }
        let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await ControlTestServer.with(devices: handlers, on: loop) { server in
            async let survey = server.send("GET", Routes.devices)
            #expect(try await server.send("GET", Routes.status).status == 200)
            answered.signal()
            let body = try await survey.body
            #expect(body.contains("\"problem\" : \"in time\""))
        }
        try await loop.shutdownGracefully()
    }

    @Test("nothing but GET is answered: no device is touched from outside") func readOnly()
        async throws
    {
        try await ControlTestServer.with { server in
            let answer = try await server.send("POST", Routes.devices)
            #expect(answer.status == 405)
        }
    }
}
