// An app as the head unit knows it after RegisterAppInterface.

import NIOCore
package import SDLProtocol

extension SimulatedAccessory {
    /// An app that is registered in a session.
    package struct RegisteredApp: Hashable, Sendable {
        package let appID: String
        package let name: String
        package internal(set) var hmiLevel = HMILevel.none
        /// Names of the vehicle data items it is subscribed to.
        package internal(set) var vehicleData: Set<String> = []
        /// The RPC version agreed on.
        package let rpcVersion: SDLVersion
        /// When it is put on the screen; nil once it was, or when that is switched off.
        var activationDue: NIODeadline?
        /// Media apps are heard while visible; navigation and projection apps may stream.
        let isAudible: Bool
        let isStreamable: Bool
        /// First choice of each choice set, picked in PerformInteraction.
        var choiceSets: [Int64: Int64] = [:]
    }
}
