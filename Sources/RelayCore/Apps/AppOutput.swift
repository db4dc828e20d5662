import NIOCore

/// Sends apps what a read of the link brought, in order, and flushes once per read. Everything here is called
/// on the hub's loop.
final class AppOutput {
    private var unflushed: [AppConnection] = []
    /// The app last sent to. Its pending units are written before any for another app.
    private var receiver: AppConnection?
    private var receiverID: ObjectIdentifier?

    @inline(__always)
    func send(_ unit: ByteBuffer, to app: AppConnection) {
        if receiverID != ObjectIdentifier(app) { change(receiver: app) }
        app.send(unit)
        if !app.needsFlush {
            app.needsFlush = true
            unflushed.append(app)
        }
    }

    @inline(never)
    private func change(receiver app: AppConnection?) {
        receiver?.writeRun()
        receiver = app
        receiverID = app.map { ObjectIdentifier($0) }
    }

    /// - Parameter blocked: Called with each app whose socket did not take everything.
    func flush(blocked: (AppConnection) -> Void) {
        guard !unflushed.isEmpty else { return }
        // By index, because closing an app may add to the list, or flush all of it; a copy would cost an
        // allocation.
        var index = 0
        while index < unflushed.count {
            let app = unflushed[index]
            index += 1
            guard app.needsFlush else { continue }
            app.needsFlush = false
            app.flush()
            if app.isBlocked { blocked(app) }
        }
        unflushed.removeAll(keepingCapacity: true)
        change(receiver: nil)
    }
}
