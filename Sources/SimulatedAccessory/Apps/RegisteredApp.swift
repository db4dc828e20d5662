// An app as the head unit knows it after RegisterAppInterface.

import NIOCore
package import SDLProtocol

extension SimulatedAccessory {
    /// An app that is registered in a session.
    package struct RegisteredApp: Hashable, Sendable {
        package let appID: String
        package let name: String
        /// The negotiated RPC version.
        package let rpcVersion: SDLVersion
        let kind: AppKind
        /// Its names, including those for voice, without regard to case.
        let names: Set<String>
        /// When it is to be put on the screen; nil once it has been, or when that is switched off.
        var activationDue: NIODeadline?
        var state: HMIState
        /// What the last OnHMIStatus said; nil before the first.
        var toldStatus: HMIStatus?
        var template: Template
        var menu = Menu()
        var choices = Choices()
        /// Names of the buttons it is subscribed to.
        var buttons: Set<String> = []
        /// Names of the vehicle data items it is subscribed to.
        package internal(set) var vehicleData: Set<String> = []

        package var hmiLevel: HMILevel { state.level }
    }
}
