import CShims
import Glibc
import HostNames
import NIOCore

/// Waits for what a thread of a Bluetooth link's own brings about: connections take long, in calls that NIO
/// does not know.
final class BluetoothWait<Value: Sendable>: Sendable {
    /// What the thread is told.
    let mailbox: BluetoothMailbox
    private let result: EventLoopPromise<Value>

    init(on loop: any EventLoop) throws(LinkProblem) {
        mailbox = try BluetoothMailbox()
        result = loop.makePromise()
    }

    /// Runs the body on a thread, and waits until it has called `succeed` or `fail`; when the task is
    /// cancelled, the mailbox tells it.
    func value(_ body: @escaping @Sendable () -> Void) async throws(LinkProblem) -> Value {
        let failure = DetachedThread.run {
            _ = relay_thread_set_name("bluetooth")
            body()
        }
        if failure != 0 {
            fail(LinkProblem.system("a thread could not be started", errno: failure))
        }
        let outcome = await withTaskCancellationHandler {
            await result.futureResult.outcome()
        } onCancel: {
            mailbox.put(.cancelled)
        }
        return try outcome.linkValue("no Bluetooth connection was made")
    }

    /// The first of both counts.
    func succeed(_ value: Value) { result.succeed(value) }
    func fail(_ problem: LinkProblem) { result.fail(problem) }
}
