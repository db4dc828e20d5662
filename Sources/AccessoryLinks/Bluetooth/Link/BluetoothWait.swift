import CShims
import Glibc
import HostNames
import NIOCore

/// Waits for a result from a Bluetooth link's own thread: connecting takes long, in calls that NIO does not know.
final class BluetoothWait<Value: Sendable>: Sendable {
    /// Messages to the thread.
    let mailbox: BluetoothMailbox
    private let result: EventLoopPromise<Value>

    init(on loop: any EventLoop) throws(LinkProblem) {
        mailbox = try BluetoothMailbox()
        result = loop.makePromise()
    }

    /// Runs the body on a thread, and waits until it has called `succeed` or `fail`; when the task is cancelled,
    /// the mailbox tells the thread.
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

    /// Only the first of these calls counts.
    func succeed(_ value: Value) { result.succeed(value) }
    func fail(_ problem: LinkProblem) { result.fail(problem) }
}
