extension String {
    /// In quotes, as filters and what fault rules do take it: a backslash stands before a quote or a backslash.
    package var inQuotes: String {
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        // Not by characters: a quote with an accent on it would be another one.
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
            quoted.append(scalar)
        }
        quoted.append("\"")
        return String(quoted)
    }
}
