import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import SimulatedAccessory
import Testing

/// A real app's half of a conversation: what SDL's JavaScript suite said to sdl_core 8.2.0.
@Suite struct CapturedAppTests {
    private func captured() throws -> [Frame] {
        let file = Checkout.captures.appending(path: "js-full-1.up.bin")
        return try frames(ByteBuffer(bytes: try Data(contentsOf: file)))
    }

    @Test("every request of a captured app gets exactly one response, and all succeed")
    func answersAll() throws {
        var link = try Dialogue()
        var grant: SessionGrant?
        var heard: [Frame] = []
        for frame in try captured() {
            // The capture ends with the hash of another head unit's session.
            if frame.controlType == .endService {
                let hashID = try #require(grant?.hashID)
                heard += link.says(.endService(version: 5, sessionID: 1, hashID: hashID))
                continue
            }
            let answer = link.says(frame)
            if frame.controlType == .startService {
                grant = answer.first.map(SessionGrant.init)
            }
            // The app waits for each answer, so time passes until nothing is due.
            heard += answer + link.passes(.seconds(10))
        }
        let responses = answers(heard).filter { $0.type == .response }
        #expect(responses.compactMap(\.correlationID) == [65529] + Array(1...15))
        #expect(
            responses.map(\.function) == [
                .registerAppInterface, .listFiles, .createInteractionChoiceSet,
                .deleteInteractionChoiceSet, .show, .putFile, .addCommand, .setAppIcon, .putFile,
                .show, .listFiles, .alert, .subscribeVehicleData, .getVehicleData,
                .unsubscribeVehicleData, .unregisterAppInterface,
            ])
        #expect(responses.allSatisfy { $0.result == "SUCCESS" })
        #expect(answers(heard).contains { $0.function == .onVehicleData })
        #expect(heard.last?.controlType == .endServiceACK)
        #expect(link.accessory.sessionIDs.isEmpty)
        #expect(link.accessory.counters.malformedMessages == 0)
        #expect(link.accessory.counters.unexpectedFrames == 0)
    }
}
