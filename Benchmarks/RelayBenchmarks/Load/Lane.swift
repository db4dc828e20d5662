// An app and a head unit with something between them: relayd, or a plain TCP forwarder.

import Foundation

/// Two sockets whose bytes pass through one program, with an app registered over them.
final class Lane {
    let name: String
    let app: Socket
    let headUnit: Socket
    let session: UInt8
    /// The program in the middle.
    let child: ChildProcess
    /// Set when that is relayd.
    let relayd: RelaydProcess?

    private init(
        name: String, app: Socket, headUnit: Socket, child: ChildProcess,
        relayd: RelaydProcess? = nil
    ) throws {
        self.name = name
        self.app = app
        self.headUnit = headUnit
        self.child = child
        self.relayd = relayd
        session = try Registration.play(app: app, headUnit: headUnit)
    }

    static func relayd(
        _ setting: Setting, _ options: RelaydProcess.Options = .init(), name: String = "relayd"
    ) throws -> Lane {
        let (listener, port) = try Socket.listen()
        var options = options
        options.accessory = "tcp:127.0.0.1:\(port)"
        let relayd = try RelaydProcess(
            setting, options, directory: setting.newDirectory())
        let headUnit = try listener.accept()
        let app = try Socket.connect(port: relayd.port())
        return try Lane(
            name: name, app: app, headUnit: headUnit, child: relayd.child, relayd: relayd)
    }

    /// One socat process between two TCP connections.
    ///
    /// - Parameter buffer: its `-b`, bytes; nil for its default of 8192.
    static func socat(_ setting: Setting, buffer: Int? = nil) throws -> Lane {
        let (listener, port) = try Socket.listen()
        let ownPort = try freePort()
        let child = try ChildProcess(
            setting.socat,
            ["-d"] + (buffer.map { ["-b", "\($0)"] } ?? []) + [
                "TCP-LISTEN:\(ownPort),bind=127.0.0.1,reuseaddr,nodelay",
                "TCP:127.0.0.1:\(port),nodelay",
            ], errors: "\(try setting.newDirectory())-socat")
        let app = try connect(port: ownPort, to: child)
        let headUnit = try listener.accept()
        return try Lane(
            name: buffer.map { "socat -b \($0)" } ?? "socat", app: app, headUnit: headUnit,
            child: child)
    }

    private static func freePort() throws -> UInt16 {
        // Free a moment ago; should somebody be faster, socat ends and the caller says so.
        try Socket.listen().port
    }

    private static func connect(port: UInt16, to child: ChildProcess) throws -> Socket {
        let deadline = Clock.now() + Double(Socket.patienceSeconds)
        while Clock.now() < deadline {
            if let socket = try? Socket.connect(port: port) { return socket }
            guard child.isRunning else { break }
            usleep(5000)
        }
        throw BenchmarkError("\(child.name) does not accept connections on port \(port)")
    }
}
