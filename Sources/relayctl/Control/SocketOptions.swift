import ArgumentParser
import ControlAPI

/// The option of every command that asks relayd.
struct SocketOptions: ParsableArguments {
    @Option(
        name: .customLong("socket"),
        help: ArgumentHelp(
            "relayd's control socket. Default: $RELAYD_SOCKET, or else the usual places in turn.",
            valueName: "path"),
        completion: .file())
    var path: String?

    /// - Throws: `ValidationError` when the path cannot be a socket's, or the timeout in the environment
    ///   is not understood.
    func client() throws -> ControlClient {
        if let problem = AnswerTimeout.ofEnvironment.problem { throw ValidationError(problem) }
        if let path, path.contains("://") {
            throw ValidationError(
                "--socket is \(SafeText.clean(path)); expected a path such as "
                    + "\(ControlSocket.systemDirectory)/\(ControlSocket.fileName), not a URL")
        }
        do {
            return ControlClient(sockets: try ControlSocket.forTool(given: path))
        } catch {
            throw ValidationError(error.description)
        }
    }
}
