// Which functions an app may use at which HMI level.

import SDLProtocol

/// The levels in sdl_core 8.2.0's policy for an app that no policy names, which are sent in OnPermissionsChange; a
/// function that is in no group there is allowed once the user has chosen the app. Unlike there, no function is
/// forbidden altogether: this is a bench.
enum Permissions {
    /// The HMI levels at which a function may be used.
    static func levels(of function: FunctionID) -> [HMILevel] {
        if anywhere.contains(function) { return [.background, .full, .limited, .none] }
        if visibleOnly.contains(function) { return [.full] }
        if audibleOnly.contains(function) { return [.full, .limited] }
        return [.background, .full, .limited]
    }

    static func check(_ function: FunctionID, at level: HMILevel) throws(Refusal) {
        guard !levels(of: function).contains(level) else { return }
        throw Refusal(
            .disallowed, "\(function) is not allowed in HMI level \(level.rawValue)")
    }

    /// Functions allowed even before the user has chosen the app.
    private static let anywhere: Set<FunctionID> = [
        .registerAppInterface, .unregisterAppInterface, .changeRegistration, .putFile,
        .deleteFile, .listFiles, .getFile, .setAppIcon, .getSystemCapability, .setDisplayLayout,
        .setGlobalProperties, .resetGlobalProperties, .systemRequest, .encodedSyncPData,
        .onAppInterfaceUnregistered, .onDriverDistraction, .onEncodedSyncPData, .onHMIStatus,
        .onHashChange, .onLanguageChange, .onPermissionsChange, .onSystemCapabilityUpdated,
        .onSystemRequest, .createWindow, .deleteWindow, .publishAppService, .unpublishAppService,
        .getAppServiceData, .onAppServiceData, .performAppServiceInteraction,
        .getCloudAppProperties, .setCloudAppProperties,
    ]
    /// Functions that take the whole screen.
    private static let visibleOnly: Set<FunctionID> = [.scrollableMessage, .slider, .showAppMenu]
    /// Functions that speak or listen.
    private static let audibleOnly: Set<FunctionID> = [
        .performInteraction, .performAudioPassThru, .speak,
    ]

    // MARK: OnPermissionsChange

    static let notification = notification(levels)
    /// Every function at every level.
    static let lenientNotification = notification { _ in [.background, .full, .limited, .none] }

    private static func notification(_ levels: (FunctionID) -> [HMILevel]) -> JSON {
        let functions = FunctionID.all.filter { $0.id != .genericResponse }
        return ["permissionItem": .array(functions.map { item($0.id, $0.name, levels($0.id)) })]
    }

    private static let vehicleDataFunctions: Set<FunctionID> = [
        .subscribeVehicleData, .unsubscribeVehicleData, .getVehicleData, .onVehicleData,
    ]

    private static func item(_ id: FunctionID, _ name: String, _ levels: [HMILevel]) -> JSON {
        let items = vehicleDataFunctions.contains(id) ? Vehicle.itemTypes.keys.sorted() : []
        return [
            "rpcName": .string(name),
            "hmiPermissions": [
                "allowed": .array(levels.map { .string($0.rawValue) }),
                "userDisallowed": [],
            ],
            "parameterPermissions": [
                "allowed": .array(items.map(JSON.string)), "userDisallowed": [],
            ],
        ]
    }
}
