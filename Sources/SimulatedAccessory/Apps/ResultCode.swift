/// How a request ended, as MOBILE_API spells it; only the results the simulator gives.
enum ResultCode: String, Sendable {
    case success = "SUCCESS"
    case warnings = "WARNINGS"
    case wrongLanguage = "WRONG_LANGUAGE"
    case resumeFailed = "RESUME_FAILED"
    case aborted = "ABORTED"
    case applicationNotRegistered = "APPLICATION_NOT_REGISTERED"
    case applicationRegisteredAlready = "APPLICATION_REGISTERED_ALREADY"
    case corruptedData = "CORRUPTED_DATA"
    case dataNotAvailable = "DATA_NOT_AVAILABLE"
    case disallowed = "DISALLOWED"
    case duplicateName = "DUPLICATE_NAME"
    case fileNotFound = "FILE_NOT_FOUND"
    case ignored = "IGNORED"
    case inUse = "IN_USE"
    case invalidData = "INVALID_DATA"
    case invalidID = "INVALID_ID"
    case outOfMemory = "OUT_OF_MEMORY"
    case rejected = "REJECTED"
    case timedOut = "TIMED_OUT"
    case unsupportedRequest = "UNSUPPORTED_REQUEST"
    case unsupportedResource = "UNSUPPORTED_RESOURCE"
    case vehicleDataNotAvailable = "VEHICLE_DATA_NOT_AVAILABLE"

    /// The `success` that goes with the result: these four mean that the request was carried out.
    var isSuccess: Bool {
        switch self {
        case .success, .warnings, .wrongLanguage, .resumeFailed: true
        default: false
        }
    }
}
