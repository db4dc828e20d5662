package import ArgumentParser
import Glibc
import NIOCore

/// The program relayd: reads its arguments, then runs the daemon or only checks its configuration.
@main
package struct Relayd: AsyncParsableCommand {
    package static let configuration = Arguments.command

    @OptionGroup var arguments: Arguments

    package init() {}

    package static func main() async {
        // For this process only: test processes have loops of their own. Set before anything asks
        // for a loop.
        NIOSingletons.groupLoopCountSuggestion = 1
        await withTaskExecutorPreference(LoopExecutor.shared) { await main(nil) }
    }

    package func run() async throws {
        // Files the daemon creates are private unless it says otherwise.
        umask(0o077)
        let environment = Self.environment
        if arguments.checkConfig {
            let result = arguments.checkConfig(
                environment: environment, validateAccessory: Daemon.problem(withAccessory:))
            result.exitCode == 0 ? print(result.output) : Self.complain(result.output)
            throw ExitCode(result.exitCode)
        }
        let effective: EffectiveConfig
        do throws(ConfigErrors) {
            effective = try arguments.effective(
                environment: environment, validateAccessory: Daemon.problem(withAccessory:))
        } catch {
            Self.complain(error.description)
            SystemdNotifier.failed(error.description)
            WaitingClients.sendAway(because: error.description)
            throw ExitCode(ConfigErrors.exitCode)
        }
        let outputs = LoggingSetup.bootstrap(effective.config.log, environment: environment)
        do {
            let arguments = arguments
            try await Daemon(
                effective: effective, outputs: outputs, environment: environment
            ) {
                try arguments.effective(
                    environment: environment, validateAccessory: Daemon.problem(withAccessory:))
            }.run()
            await outputs.flush()
        } catch {
            await outputs.flush()
            Self.complain("relayd: \(error)")
            SystemdNotifier.failed("\(error)")
            throw ExitCode(Self.isMatterOfConfiguration(error) ? ConfigErrors.exitCode : 1)
        }
    }

    /// Whether trying again cannot help: the unit does not restart relayd then.
    private static func isMatterOfConfiguration(_ error: any Error) -> Bool {
        switch error {
        case is ConfigErrors, is InheritedSocketError, is UnknownGroup: return true
        case let error as ControlListenerError:
            switch error {
            case .unknownGroup, .groupNotPermitted, .notASocket: return true
            default: return false
            }
        default: return false
        }
    }

    private static func complain(_ text: String) {
        let line = text.hasSuffix("\n") ? text : text + "\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }

    private static var environment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee.map({ String(cString: $0) }) {
            if let equals = text.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            entry += 1
        }
        return variables
    }
}
