import ControlAPI
import Logging
import SDLProtocol

/// The RPC specification named by the user, an XML file such as MOBILE_API.xml; loaded by `Daemon`
/// at start and by --check-config.
enum SpecificationFile {
    private static let kind = ConfigFile.Kind(
        maximumBytes: RPCCatalogue.maximumXMLBytes, format: "an XML file",
        noun: "RPC specification", substitute: "built-in specification")

    /// Why a file is not a specification, written for people.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    static func catalogue(at path: String) throws(Failure) -> RPCCatalogue {
        do {
            return try RPCCatalogue(xml: try ConfigFile.read(path, as: kind))
        } catch let error as ConfigFile.Failure {
            throw Failure(description: "\(path): \(error.text)")
        } catch let error as RPCSpecificationError {
            throw Failure(description: "\(path):\(error.line): \(error.reason)")
        } catch {
            throw Failure(description: "\(path): \(error)")
        }
    }

    /// The specification RPCs are compared with, and what to report about it.
    struct InForce: Sendable {
        /// Nil if the user turned validation off.
        let validator: RPCValidator?
        let report: SpecificationReport?

        static let off = InForce(validator: nil, report: nil)

        /// The built-in specification, used instead of a file with that problem.
        static func builtIn(insteadOf problem: String? = nil) -> InForce {
            InForce(
                validator: .builtIn,
                report: SpecificationReport(
                    version: "\(RPCCatalogue.builtIn.version)", problem: problem))
        }

        static func of(_ catalogue: RPCCatalogue, file: String) -> InForce {
            InForce(
                validator: RPCValidator(catalogue),
                report: SpecificationReport(
                    version: "\(catalogue.version)", file: ConfigFile.wholePath(file)))
        }
    }

    /// A file that is not a specification does not stop relayd: it uses the built-in one, and the log
    /// says why.
    static func inForce(_ config: Config, logger: Logger) -> InForce {
        guard config.rpcValidation else { return .off }
        guard !config.rpcSpec.isEmpty else { return .builtIn() }
        do throws(Failure) {
            let catalogue = try catalogue(at: config.rpcSpec)
            logger.info(
                """
                RPC specification \(catalogue.version) from \(config.rpcSpec): \
                \(catalogue.functions.count) messages, \(catalogue.structs.count) structs, \
                \(catalogue.enums.count) enumerations
                """)
            return .of(catalogue, file: config.rpcSpec)
        } catch {
            logger.error(
                """
                rpc_spec: \(error); using the built-in RPC specification \
                \(RPCCatalogue.builtIn.version)
                """)
            return .builtIn(insteadOf: "\(error)")
        }
    }
}
