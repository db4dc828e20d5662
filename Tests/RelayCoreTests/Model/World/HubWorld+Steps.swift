// What each kind of step does.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

extension HubWorld {
    /// The most apps at once; few, so that they meet.
    private static var mostApps: Int { 6 }

    func carryOut(_ step: HubStep) throws {
        didSomething = true
        switch step.kind {
        case .connect:
            guard apps.count < Self.mostApps else { return }
            _ = try connect()
        case .linkLost:
            didSomething = link != nil
            closeLink()
        case .linkBack:
            didSomething = link == nil
            try openLink()
        case .linkBreaks:
            didSomething = link != nil
            link?.isBroken = true
        case .reload: reload(step)
        case .stall:
            stalledUntil = loop.now + .milliseconds(Int64(step.amount % 3000))
            // The standstill may be over before the waits are checked.
            waits = [:]
            tell("the link stands still until \(stalledUntil.uptimeNanoseconds / 1_000_000) ms")
        case .pass:
            link?.drain(step.amount)
            listen(upTo: step.amount)
        case .wait: pass(.milliseconds(Int64(step.amount % 100) + 1))
        case .longWait: pass(.seconds(Int64(step.amount % 22) + 1))
        case .coreEnds, .notify, .notifyLarge, .coreStops, .noise: coreDoes(step)
        default:
            guard !apps.isEmpty else { return }
            try appDoes(step, apps[step.which % apps.count])
        }
        if didSomething { steps += 1 }
        if setting.passBytes == nil { self.step() }
    }

    /// The limit of frames stays below the head unit's.
    private func reload(_ step: HubStep) {
        var configuration = switchboard.configuration
        switch step.which % 5 {
        case 0: configuration.framesPerSecond = [100, 60, 20][step.amount % 3]
        case 1: configuration.linkQueueBytes = [8 << 10, 1 << 10, 64 << 10][step.amount % 3]
        case 2: configuration.whenSlow = step.amount % 2 == 0 ? .drop : .hold
        case 3: configuration.foreignFrames = step.amount % 2 == 0 ? .drop : .close
        default: configuration.whenLinkLost = step.amount % 2 == 0 ? .close : .keep
        }
        tell("option \(step.which % 5) is changed")
        switchboard.reconfigure(configuration, accessoryAddress: "model:")
        // With the new limits, waits may be longer.
        waits = [:]
        // The new options apply to what an app has said and the hub has not read yet.
        guard switchboard.tap.isHolding, configuration.foreignFrames == .close else { return }
        for app in apps { model.apps[app.number]?.mayBeClosed = true }
    }

    private func coreDoes(_ step: HubStep) {
        let running = core.running
        switch step.kind {
        case .noise:
            guard setting.isLossy else {
                didSomething = false
                return
            }
            let bytes = (0..<step.amount % 30 + 1).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            tell("\(bytes.count) bytes of noise")
            link?.noise(ByteBuffer(bytes: bytes))
        case .coreStops:
            guard link != nil, !core.isStopping else {
                didSomething = false
                return
            }
            tell("the head unit gets SIGTERM")
            core.terminate(at: loop.now)
        default:
            guard !running.isEmpty else {
                didSomething = false
                return
            }
            let session = running[step.which % running.count]
            switch step.kind {
            case .coreEnds:
                tell("the head unit ends session \(session.id)")
                core.advance(to: loop.now)
                core.end(session.id, reason: "USER_EXIT")
            case .notify:
                lastNotice += 1
                core.notify(session.id, .onVehicleData, json: #"{"odometer":\#(lastNotice)}"#)
            default:
                lastNotice += 1
                core.notify(
                    session.id, .onSystemRequest, json: #"{"offset":\#(lastNotice)}"#,
                    bulk: ByteBuffer(repeating: UInt8(truncatingIfNeeded: lastNotice), count: 200),
                    frameBytes: 60)
            }
        }
        listen()
    }

    private func appDoes(_ step: HubStep, _ app: WorldApp) throws {
        let grant = app.session(step.amount)
        switch step.kind {
        case .start:
            switch step.amount % 4 {
            case 0: app.say(.startServiceV4())
            case 1: app.say(.startService(headerVersion: 5))
            default: app.say(.startService())
            }
        case .foreign:
            let session = UInt8(step.amount % 5 + 1)
            guard !app.sessions.contains(where: { $0.sessionID == session }) else {
                didSomething = false
                return
            }
            app.say(.request(session, .show, app.nextRequest(), message: 1))
            if switchboard.configuration.foreignFrames == .close {
                model.apps[app.number]?.mayBeClosed = true
            }
        case .garbage:
            tell("app \(app.number) says garbage")
            model.apps[app.number]?.mayBeClosed = true
            app.say(bytes: ByteBuffer(bytes: [0xF7, 1, 2, 3, 4, 5, 6, 7, 8]))
        case .slow, .fast:
            tell("app \(app.number) reads \(step.kind == .slow ? "nothing" : "again")")
            app.setSlow(step.kind == .slow)
        case .appBreaks: app.isBroken = true
        case .leave:
            app.push(.max)
            tell("app \(app.number) leaves")
            app.leave()
        case .crash:
            app.push(step.amount % 400)
            tell("app \(app.number) crashes")
            app.leave()
        case .disconnect:
            guard step.which % 8 == 0 else {
                didSomething = false
                return
            }
            tell("app \(app.number) is disconnected by its operator")
            model.apps[app.number]?.mayBeClosed = true
            _ = switchboard.disconnect(
                AppID(rawValue: UInt64(app.number)), because: .byOperator(nil))
        default:
            guard let grant else {
                didSomething = false
                return
            }
            sessionStep(step, app, grant)
        }
        if setting.passBytes == nil { app.push(.max) } else { app.push(step.amount) }
    }

    /// Registers, as every library does at once.
    func register(_ app: WorldApp, _ grant: SessionGrant) {
        sessionStep(HubStep(kind: .register, which: app.number / 2, amount: 0), app, grant)
    }

    private func sessionStep(_ step: HubStep, _ app: WorldApp, _ grant: SessionGrant) {
        let (session, version) = (grant.sessionID, grant.version)
        func request(_ function: FunctionID, json: String = "{}") {
            app.say(
                .request(
                    session, function, app.nextRequest(), message: app.nextMessage(session),
                    version: version, json: json))
        }
        switch step.kind {
        case .register:
            let name = "app \(step.which % 5)"
            request(
                .registerAppInterface, json: #"{"appName":"\#(name)","fullAppID":"\#(name)"}"#)
        case .show: request(step.amount % 5 == 0 ? .addCommand : .show)
        case .alert: request(.alert, json: #"{"duration":\#(step.amount)}"#)
        case .flood:
            for _ in 0..<step.amount % 200 { request(.show) }
        case .burst:
            // More than a slow link takes at once.
            for _ in 0..<step.amount % 20 {
                let correlationID = app.nextRequest()
                let contents = ByteBuffer(repeating: UInt8(step.which), count: 200)
                files[correlationID] = contents
                app.say(
                    .rpc(
                        version: version, service: .bulk, sessionID: session,
                        messageID: app.nextMessage(session), type: .request,
                        functionID: FunctionID.putFile.rawValue, correlationID: correlationID,
                        json: #"{"syncFileName":"burst"}"#, bulk: contents))
            }
        case .file, .bulkFile:
            guard app.unfinished[session] == nil else {
                didSomething = false
                return
            }
            begin(step, app, grant)
        case .goOn:
            didSomething = app.unfinished[session] != nil
            for _ in 0..<step.amount % 4 + 1 {
                guard let frame = app.unfinished[session]?.first else { return }
                app.say(frame)
                app.unfinished[session]?.removeFirst()
                if app.unfinished[session]?.isEmpty == true { app.unfinished[session] = nil }
            }
        case .stream:
            if step.amount % 3 == 0 {
                app.say(
                    Frame(
                        version: version, type: .control, service: .video, info: 1,
                        sessionID: session))
            }
            let bytes = ByteBuffer(integer: app.nextRequest())
            app.say(
                Frame(
                    version: version, type: .single, service: .video, sessionID: session,
                    messageID: 1, payload: bytes))
        case .hurt: hurt(app, grant, by: step.amount % 5)
        case .heartbeat:
            app.say(
                Frame(
                    version: version, type: .control, service: .control, info: 0,
                    sessionID: session, messageID: app.nextMessage(session)))
        case .protect:
            app.say(
                Frame(
                    version: version, isEncrypted: true, type: .control, service: .rpc, info: 1,
                    sessionID: session))
        case .unregister: request(.unregisterAppInterface)
        case .endService, .endAtOnce:
            if step.kind == .endAtOnce { request(.unregisterAppInterface) }
            app.say(.endService(version: version, sessionID: session, hashID: grant.hashID))
            // Most libraries are silent then; some send on until the answer comes.
            if step.which % 4 > 0 { app.forget(session) }
        default: break
        }
    }

    /// Says what makes sdl_core stop reading, reserve memory without end, or close the link for all.
    private func hurt(_ app: WorldApp, _ grant: SessionGrant, by what: Int) {
        let (session, version) = (grant.sessionID, grant.version)
        func first(announcing bytes: UInt32) -> Frame {
            var announcement = ByteBuffer(integer: bytes)
            announcement.writeInteger(2 as UInt32)
            return Frame(
                version: version, type: .first, service: .rpc, sessionID: session,
                messageID: app.nextMessage(session), payload: announcement)
        }
        switch what {
        case 0: app.say(first(announcing: 0))
        case 1: app.say(first(announcing: 1 << 30))
        case 2: app.say(.request(session, .show, app.nextRequest(), message: 0, version: version))
        case 3:
            app.say(.request(0, .show, app.nextRequest(), message: 1, version: version))
        default:
            tell("app \(app.number) says a malformed header")
            model.apps[app.number]?.mayBeClosed = true
            app.say(
                bytes: ByteBuffer(bytes: [
                    version << 4 | 5, 7, 0, session, 0, 0, 0, 1, 0, 0, 0, 1, 0,
                ]))
        }
    }

    private func begin(_ step: HubStep, _ app: WorldApp, _ grant: SessionGrant) {
        let correlationID = app.nextRequest()
        var contents = ByteBuffer(integer: correlationID)
        contents.writeRepeatingByte(
            UInt8(truncatingIfNeeded: app.number), count: 40 + step.which % 3 * 100)
        files[correlationID] = contents
        let frames = Frame.putFile(
            grant.sessionID, name: "file", contents: contents, correlationID: correlationID,
            message: app.nextMessage(grant.sessionID),
            service: step.kind == .file ? .rpc : .bulk, version: grant.version,
            frameBytes: 20 + step.amount % 2 * 30)
        let now = step.which % 4 == 0 ? frames.count : 1 + step.amount % 3
        for frame in frames.prefix(now) { app.say(frame) }
        let rest = Array(frames.dropFirst(now))
        app.unfinished[grant.sessionID] = rest.isEmpty ? nil : rest
    }
}
