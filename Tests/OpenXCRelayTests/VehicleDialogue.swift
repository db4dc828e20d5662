import NIOCore
import OpenXCProtocol

@testable import OpenXCRelay

/// Helpers for dialogues with a shared vehicle interface.
protocol VehicleDialogue {}

extension VehicleDialogue {
    typealias Router = VehicleRouter<String>

    var start: NIODeadline { .uptimeNanoseconds(0) }

    /// A router with a link and these clients.
    func router(_ clients: String...) -> Router {
        var router = Router()
        for client in clients { router.connected(client) }
        _ = router.linkOpened(at: start)
        return router
    }

    func command(_ command: Command) -> VehicleMessage { VehicleMessage(.command(command)) }

    func response(_ command: CommandName, _ message: String = "", _ status: Bool = true)
        -> VehicleMessage
    {
        VehicleMessage(.response(CommandResponse(command, message: message, status: status)))
    }

    func response(_ command: CommandName, _ status: Bool) -> VehicleMessage {
        response(command, "", status)
    }
}
