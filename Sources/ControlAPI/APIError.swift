/// Body of every answer of the control socket that is not a success:
/// `{"schema": 1, "error": {"code": "not_found", "message": "…"}}`.
package struct APIError: Codable, Sendable, Equatable, Error {
    package struct Detail: Codable, Sendable, Equatable {
        /// For programs; the list may grow.
        package let code: Code
        /// For people: what was found, what was expected, what to do.
        package let message: String
        /// Start of the mistake in a filter, in characters (Unicode scalars); nil for every other error.
        package let start: Int?
        /// The character after the mistake; the same as `start` where something is missing.
        package let end: Int?
    }

    /// Version of the JSON layout: 1.
    package var schema = 1
    package let error: Detail

    /// - Parameter range: Range of the mistake, in characters of a filter.
    package init(_ code: Code, _ message: String, in range: Range<Int>? = nil) {
        error = Detail(
            code: code, message: message, start: range?.lowerBound, end: range?.upperBound)
    }

    package struct Code: OpenValue {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// 404: no route has this path.
        package static let notFound = Code(rawValue: "not_found")
        /// 409: the name fits more than one app.
        package static let ambiguous = Code(rawValue: "ambiguous")
        /// 400: a value in the query is not understood.
        package static let badRequest = Code(rawValue: "bad_request")
        /// 404: relayd is configured to keep no messages.
        package static let ringOff = Code(rawValue: "ring_off")
        /// 403: this client may read, but not change anything; or the request comes from a web site; or
        /// `openxc.writes` does not allow this write to the vehicle.
        package static let forbidden = Code(rawValue: "forbidden")
        /// 403: `drive.enabled` does not allow driving the conversation.
        package static let driveOff = Code(rawValue: "drive_off")
        /// 409: not possible at the moment; the message says why.
        package static let conflict = Code(rawValue: "conflict")
        /// 409: the accessory is a head unit, and the request needs a vehicle interface.
        package static let wrongAccessory = Code(rawValue: "wrong_accessory")
        /// 409: the vehicle interface has answered that it does not support this.
        package static let vehicleRefused = Code(rawValue: "vehicle_refused")
        /// 504: the vehicle interface or the head unit has not answered in time.
        package static let noAnswer = Code(rawValue: "no_answer")
        /// 413: the body is larger than any request needs.
        package static let tooLarge = Code(rawValue: "too_large")
        /// 429: this client has reached the maximum number of connections or streams.
        package static let tooMany = Code(rawValue: "too_many")
        /// 405: the path exists, but not with this method.
        package static let methodNotAllowed = Code(rawValue: "method_not_allowed")
        /// 500: relayd could not answer; its log says why.
        package static let `internal` = Code(rawValue: "internal")
    }
}
