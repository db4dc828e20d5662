/// The Prometheus text format, version 0.0.4: families with their help, samples with their labels.
/// Written by `Metrics`.
package struct PrometheusText {
    package enum Kind: String {
        case counter, gauge, histogram
    }

    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    /// Begins a family; its samples follow. A family without samples is left out.
    package mutating func family(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]
    ) {
        guard !samples.isEmpty else { return }
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += name + sample.suffix
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
                text += "{" + labels.joined(separator: ",") + "}"
            }
            text += " \(sample.value)\n"
        }
    }

    package struct Sample: Sendable {
        /// "_bucket", "_sum" or "_count" of a histogram.
        package var suffix = ""
        package var labels: [(String, String)]
        package var value: String

        package init(_ value: some BinaryInteger, _ labels: (String, String)...) {
            self.labels = labels
            self.value = "\(value)"
        }

        package init(_ value: Double, _ labels: (String, String)...) {
            self.labels = labels
            self.value = "\(value)"
        }

        fileprivate init(_ suffix: String, _ labels: [(String, String)], _ value: String) {
            self.suffix = suffix
            self.labels = labels
            self.value = value
        }

        /// The samples of a classic histogram.
        ///
        /// - Parameters:
        ///   - bounds: Upper bounds, rising, in the family's unit.
        ///   - counts: One per bound and one for values above the last; not cumulative.
        package static func histogram(
            bounds: [Double], counts: [UInt64], sum: Double, _ labels: (String, String)...
        ) -> [Sample] {
            var total: UInt64 = 0
            var samples: [Sample] = []
            for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], counts) {
                total &+= count
                samples.append(Sample("_bucket", labels + [("le", bound)], "\(total)"))
            }
            return samples + [
                Sample("_sum", labels, "\(sum)"), Sample("_count", labels, "\(total)"),
            ]
        }
    }

    /// Escapes backslash and line feed, and in labels the quote (Prometheus, "Text-based format").
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
