// An app and a head unit with something between them: relayd, or a plain forwarder.

import Foundation

/// How the program in the middle reaches the head unit.
enum LinkKind: String {
    case tcp = "TCP"
    case pty
    /// A simulated device; only relayd opens it.
    case usb = "USB"
}

/// Two descriptors whose bytes pass through one program, with an app registered over them.
final class Lane {
    let name: String
    let app: Socket
    let headUnit: Socket
    let session: UInt8
    /// The program in the middle.
    let child: MeasuredProcess
    /// Set when the program in the middle is relayd.
    let relayd: RelaydProcess?
    /// The serial line, when there is one.
    private let line: PseudoTerminalLine?
    /// The USB device, when there is one.
    let usb: FakeUSB?
    private var sessions: UInt8 = 1

    private init(
        name: String, app: Socket, headUnit: Socket, child: MeasuredProcess,
        relayd: RelaydProcess? = nil, line: PseudoTerminalLine? = nil, usb: FakeUSB? = nil
    ) throws {
        self.name = name
        self.app = app
        self.headUnit = headUnit
        self.child = child
        self.relayd = relayd
        self.line = line
        self.usb = usb
        session = try Registration.play(app: app, headUnit: headUnit)
    }

    /// - Parameter receiveBuffer: SO_RCVBUF of a TCP head unit, bytes.
    static func relayd(
        _ setting: Setting, _ options: RelaydProcess.Options = .init(), name: String = "relayd",
        link: LinkKind = .tcp, receiveBuffer: Int32? = nil
    ) throws -> Lane {
        var options = options
        let far = try FarEnd(setting, link, receiveBuffer: receiveBuffer)
        options.accessory = far.accessory
        options.environment.merge(far.usb?.environment ?? [:]) { $1 }
        let relayd = try RelaydProcess(
            setting, options, directory: setting.newDirectory())
        let headUnit = try far.accept()
        let app = try Socket.connect(port: relayd.port())
        return try Lane(
            name: name, app: app, headUnit: headUnit, child: relayd.child, relayd: relayd,
            line: far.line, usb: far.usb)
    }

    /// relayd with a head unit and no app.
    static func unregistered(
        _ setting: Setting, _ options: RelaydProcess.Options
    ) throws -> (headUnit: Socket, relayd: RelaydProcess) {
        var options = options
        let far = try FarEnd(setting, .tcp)
        options.accessory = far.accessory
        let relayd = try RelaydProcess(setting, options, directory: setting.newDirectory())
        return (try far.accept(), relayd)
    }

    /// One socat process between two connections.
    ///
    /// - Parameter buffer: its `-b`, bytes; nil for its default of 8192.
    static func socat(
        _ setting: Setting, buffer: Int? = nil, link: LinkKind = .tcp, receiveBuffer: Int32? = nil
    ) throws -> Lane {
        let far = try FarEnd(setting, link, receiveBuffer: receiveBuffer)
        let ownPort = try freePort()
        let child = try MeasuredProcess(
            setting.socat,
            ["-d"] + (buffer.map { ["-b", "\($0)"] } ?? []) + [
                "TCP-LISTEN:\(ownPort),bind=127.0.0.1,reuseaddr,nodelay", far.socatAddress,
            ], errors: "\(try setting.newDirectory())-socat")
        let app = try connect(port: ownPort, to: child)
        return try Lane(
            name: buffer.map { "socat -b \($0)" } ?? "socat", app: app, headUnit: far.accept(),
            child: child, line: far.line)
    }

    /// socat with its best buffer size.
    static func tunedSocat(_ setting: Setting, link: LinkKind = .tcp) throws -> Lane {
        try socat(setting, buffer: 128 << 10, link: link)
    }

    /// A lane for each other relayd to be measured beside ours, with its log as text.
    static func others(_ setting: Setting, link: LinkKind = .tcp) throws -> [Lane] {
        try setting.beside.map { other in
            try relayd(setting, .init(program: other.path), name: other.name, link: link)
        }
    }

    /// Adds an app on the same link; only relayd can have several.
    func join() throws -> (app: Socket, session: UInt8) {
        guard let relayd else { throw BenchmarkError("\(name) carries one app only") }
        sessions += 1
        let app = try Socket.connect(port: relayd.port())
        return (
            app, try Registration.play(app: app, headUnit: headUnit, granted: sessions)
        )
    }

    private static func freePort() throws -> UInt16 {
        // Free a moment ago; if another program takes it first, socat ends and the caller reports it.
        try Socket.listen().port
    }

    private static func connect(port: UInt16, to child: MeasuredProcess) throws -> Socket {
        let deadline = Clock.now() + Double(Socket.patienceSeconds)
        while Clock.now() < deadline {
            if let socket = try? Socket.connect(port: port) { return socket }
            guard child.isRunning else { break }
            usleep(5000)
        }
        throw BenchmarkError("\(child.name) does not accept connections on port \(port)")
    }
}

/// Where the program in the middle finds the head unit.
private struct FarEnd {
    let line: PseudoTerminalLine?
    let usb: FakeUSB?
    private let listener: (socket: Socket, port: UInt16)?

    init(_ setting: Setting, _ link: LinkKind, receiveBuffer: Int32? = nil) throws {
        switch link {
        case .tcp:
            (line, usb) = (nil, nil)
            listener = try Socket.listen(receiveBuffer: receiveBuffer)
        case .pty:
            let directory = try setting.newDirectory()
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            line = try PseudoTerminalLine(directory: directory)
            (usb, listener) = (nil, nil)
        case .usb:
            let device = try FakeUSB(setting)
            try device.plug()
            (line, usb, listener) = (nil, device, nil)
        }
    }

    private var port: UInt16 { listener?.port ?? 0 }

    var accessory: String {
        if usb != nil { return FakeUSB.accessory }
        return line.map { "serial:\($0.path)" } ?? "tcp:127.0.0.1:\(port)"
    }

    var socatAddress: String {
        line.map { "FILE:\($0.path),rawer" } ?? "TCP:127.0.0.1:\(port),nodelay"
    }

    /// The head unit's end, once the program has opened it.
    func accept() throws -> Socket {
        if let usb { return try usb.listener.accept() }
        if let listener { return try listener.socket.accept() }
        guard let master = line?.master else { throw BenchmarkError("the line is unplugged") }
        return master
    }
}
