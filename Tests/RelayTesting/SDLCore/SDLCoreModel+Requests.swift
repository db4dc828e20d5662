// How sdl_core answers messages: registration, files, resumption, and everything else with SUCCESS.

package import NIOCore
package import SDLProtocol

extension SDLCoreModel {
    /// A result code of a response.
    package enum Result: String {
        case success = "SUCCESS"
        case invalidData = "INVALID_DATA"
        case unsupportedRequest = "UNSUPPORTED_REQUEST"
        case notRegistered = "APPLICATION_NOT_REGISTERED"
        case registeredAlready = "APPLICATION_REGISTERED_ALREADY"
        case disallowed = "DISALLOWED"
        case duplicateName = "DUPLICATE_NAME"
        case resumeFailed = "RESUME_FAILED"

        var isSuccess: Bool { self == .success || self == .resumeFailed }
    }

    mutating func handle(_ message: QueuedMessage) {
        isHandlingHalf = message.missing > 0
        defer { isHandlingHalf = false }
        guard !isStopping, connections[message.connection] != nil,
            let header = RPCHeader(message.payload), header.type == .request
        else { return }
        let number = message.session
        settleVersion(of: number, by: message.version)
        let function = FunctionID(rawValue: header.functionID)
        if sessions[number] == nil { counters.strayMessages += 1 }
        if function == .registerAppInterface, sessions[number] != nil, message.missing == 0 {
            return register(message, header)
        }
        guard sessions[number]?.app != nil else {
            return respond(to: message, header, .notRegistered)
        }
        if countRequestInNone(number) { return endForHaste(number) }
        guard function.name != nil, header.functionID < 0x8000 else {
            return respond(to: message, header, .unsupportedRequest)
        }
        guard message.missing == 0 else { return respond(to: message, header, .invalidData) }
        if function == .unregisterAppInterface {
            respond(to: message, header, .success)
            if let appID = sessions[number]?.app?.appID { resumption[appID] = nil }
            return unregister(number, unexpected: false)
        }
        guard sessions[number]?.isEndedByCore == false else {
            return respond(to: message, header, .disallowed)
        }
        switch function {
        case .putFile: putFile(message, header)
        case .alert: alert(message, header)
        case .addCommand:
            respond(to: message, header, .success)
            changeHash(number)
        default: respond(to: message, header, .success)
        }
    }

    /// Below 5 the app's first message tells its version.
    private mutating func settleVersion(of number: UInt8, by version: UInt8) {
        guard sessions[number]?.isVersionSettled == false else { return }
        sessions[number]?.version = min(max(version, 2), 4)
        sessions[number]?.isVersionSettled = true
    }

    private func parameters(_ message: QueuedMessage, _ header: RPCHeader) -> JSONObject? {
        let start = message.payload.readerIndex + RPCHeader.bytes
        return message.payload.getSlice(at: start, length: header.jsonBytes)
            .flatMap { try? JSONObject($0) }
    }

    // MARK: - Apps

    private mutating func register(_ message: QueuedMessage, _ header: RPCHeader) {
        let number = message.session
        let parameters = parameters(message, header)
        let name = parameters?.string("appName") ?? ""
        guard let appID = parameters?.string("fullAppID") ?? parameters?.string("appID") else {
            return respond(to: message, header, .invalidData)
        }
        for session in running {
            guard let app = session.app else { continue }
            if app.appID == appID || session.id == number {
                // The comparison with capital letters goes wrong, and only the policy notices.
                let hasCapitals = appID.contains { $0.isUppercase }
                return respond(to: message, header, hasCapitals ? .disallowed : .registeredAlready)
            }
            if app.name == name { return respond(to: message, header, .duplicateName) }
        }
        var app = RegisteredApp(appID: appID, name: name)
        var result = Result.success
        if let hash = parameters?.string("hashID") {
            if let kept = resumption[appID], kept.hash == hash {
                app.hash = hash
                app.commands = kept.commands
            } else {
                result = .resumeFailed
            }
        }
        resumption[appID] = nil
        sessions[number]?.app = app
        sessions[number]?.isEndedByCore = false
        respond(to: message, header, result)
        sendStatus(number, cause: life(of: number))
        if let delay = habits.activationDelay {
            schedule(.activate(session: number, life: life(of: number)), in: delay)
        }
    }

    /// Unregisters an app. After an unexpected end, what it had set up is kept for its return.
    mutating func unregister(_ number: UInt8, unexpected: Bool) {
        guard let session = sessions[number], let app = session.app else { return }
        sessions[number]?.app = nil
        ends.append(AppEnd(appID: app.appID, isUnexpected: unexpected, life: session.life))
        guard unexpected, let hash = app.hash else { return }
        resumption[app.appID] = Resumption(hash: hash, commands: app.commands)
    }

    /// Ends an app that sent more requests than it may in NONE: the session stays, the app may register again.
    private mutating func endForHaste(_ number: UInt8) {
        guard let session = sessions[number] else { return }
        sendRPC(
            .notification, .onAppInterfaceUnregistered,
            json: #"{"reason":"REQUEST_WHILE_IN_NONE_HMI_LEVEL"}"#, to: number, of: session,
            cause: session.life)
        unregister(number, unexpected: false)
    }

    mutating func sendStatus(_ number: UInt8, cause: Int) {
        guard let session = sessions[number], let app = session.app else { return }
        sendRPC(
            .notification, .onHMIStatus, json: #"{"hmiLevel":"\#(app.level.rawValue)"}"#,
            to: number, of: session, cause: cause)
    }

    private mutating func changeHash(_ number: UInt8) {
        hashCount += 1
        sessions[number]?.app?.hash = "hash\(hashCount)"
        sessions[number]?.app?.commands += 1
        guard let session = sessions[number] else { return }
        sendRPC(
            .notification, .onHashChange, json: #"{"hashID":"hash\#(hashCount)"}"#, to: number,
            of: session, cause: session.life)
    }

    // MARK: - Requests

    private mutating func putFile(_ message: QueuedMessage, _ header: RPCHeader) {
        let number = message.session
        guard let parameters = parameters(message, header),
            let name = parameters.string("syncFileName"), let appID = sessions[number]?.app?.appID
        else { return respond(to: message, header, .invalidData) }
        var contents = message.payload
        contents.moveReaderIndex(forwardBy: RPCHeader.bytes + header.jsonBytes)
        let offset = parameters.integer("offset").flatMap { Int(exactly: $0) } ?? 0
        var whole = offset > 0 ? files[appID]?[name] ?? ByteBuffer() : ByteBuffer()
        guard offset == whole.readableBytes else {
            return respond(to: message, header, .invalidData)
        }
        whole.writeImmutableBuffer(contents)
        files[appID, default: [:]][name] = whole
        stored.append(
            StoredFile(
                appID: appID, name: name, contents: whole, correlationID: header.correlationID,
                lives: message.lives, session: number))
        respond(to: message, header, .success)
    }

    /// Answered by the HMI after its duration; never when the app has gone meanwhile.
    private mutating func alert(_ message: QueuedMessage, _ header: RPCHeader) {
        let duration = parameters(message, header)?.integer("duration") ?? 5000
        schedule(
            .answer(
                session: message.session, life: life(of: message.session),
                function: header.functionID, correlationID: header.correlationID),
            in: .milliseconds(Int64(min(max(duration, 0), 10_000))))
    }

    mutating func fire(_ timer: Timer) {
        switch timer.action {
        case .activate(let number, let life):
            guard sessions[number]?.life == life, sessions[number]?.app != nil,
                sessions[number]?.isEndedByCore == false
            else { return }
            sessions[number]?.app?.level = .full
            sendStatus(number, cause: life)
        case .answer(let number, let life, let function, let correlationID):
            guard let session = sessions[number], session.life == life, session.app != nil,
                !isStopping
            else { return }
            sendRPC(
                .response, FunctionID(rawValue: function), correlationID: correlationID,
                json: Self.json(.success), to: number, of: session, cause: life)
        case .start(let item): grant(item)
        case .malformed(let id): close(id, unexpected: false)
        case .stopped:
            for id in connections.keys.sorted() { close(id, unexpected: false) }
        }
    }

    // MARK: - Out

    /// Answers on the session number that the message came on, whoever has it now. If nobody has it, its
    /// message IDs start again at 0.
    private mutating func respond(
        to message: QueuedMessage, _ header: RPCHeader, _ result: Result
    ) {
        let session = sessions[message.session]
        sendRPC(
            .response, FunctionID(rawValue: header.functionID),
            correlationID: header.correlationID, json: Self.json(result), to: message.session,
            of: session?.connection == message.connection ? session : nil,
            on: message.connection, version: message.version, cause: message.lives.first ?? 0)
    }

    /// As sdl_core writes it.
    static func json(_ result: Result) -> String {
        "{\n\t\"resultCode\" : \"\(result.rawValue)\",\n\t\"success\" : \(result.isSuccess)\n}\n"
    }

    mutating func sendRPC(
        _ type: RPCType, _ function: FunctionID, correlationID: Int32 = -1, json: String,
        to number: UInt8, of session: Session?, on connection: ConnectionID? = nil,
        version: UInt8 = 5, cause: Int
    ) {
        guard let connection = session?.connection ?? connection else { return }
        let frame = Frame.rpc(
            version: max(session?.version ?? version, 2), sessionID: number,
            messageID: takeMessageID(number), type: type, functionID: function.rawValue,
            correlationID: correlationID, json: json)
        send(frame, on: connection, cause: cause)
    }

    /// Sends an app a notification from the HMI or the vehicle. A larger one goes in several frames,
    /// whose message ID sdl_core cuts to 8 bits, so it may be 0.
    package mutating func notify(
        _ number: UInt8, _ function: FunctionID, json: String, bulk: ByteBuffer = ByteBuffer(),
        frameBytes: Int = 131_072
    ) {
        guard let session = sessions[number], !isStopping else { return }
        var message = ByteBuffer()
        RPCHeader(
            type: .notification, functionID: function.rawValue, correlationID: -1,
            jsonBytes: json.utf8.count
        ).write(to: &message)
        message.writeString(json)
        message.writeImmutableBuffer(bulk)
        let service: ServiceType = bulk.readableBytes > 0 ? .bulk : .rpc
        let messageID = takeMessageID(number)
        guard message.readableBytes > frameBytes else {
            let frame = Frame(
                version: session.version, type: .single, service: service, sessionID: number,
                messageID: messageID, payload: message)
            return send(frame, on: session.connection, cause: session.life)
        }
        let count = (message.readableBytes + frameBytes - 1) / frameBytes
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(message.readableBytes))
        announcement.writeInteger(UInt32(count))
        for index in 0...count {
            let payload =
                index == 0
                ? announcement
                : message.readSlice(length: min(frameBytes, message.readableBytes)) ?? ByteBuffer()
            let frame = Frame(
                version: session.version, type: index == 0 ? .first : .consecutive,
                service: service,
                info: index == 0 || index == count ? 0 : UInt8((index - 1) % 255 + 1),
                sessionID: number, messageID: messageID & 0xFF, payload: payload)
            send(frame, on: session.connection, cause: session.life)
        }
    }
}
