/// Why a request is not carried out, as in its response.
struct Refusal: Error, Hashable, Sendable {
    var result: ResultCode
    var info: String?

    init(_ result: ResultCode, _ info: String? = nil) {
        self.result = result
        self.info = info
    }
}
