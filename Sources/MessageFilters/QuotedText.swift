extension String {
    /// In quotes, as filters and the actions of fault rules take it: quotes and backslashes are escaped.
    package var inQuotes: String {
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        // By scalars: as a character, a quote with a combining accent is not a quote.
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
            quoted.append(scalar)
        }
        quoted.append("\"")
        return String(quoted)
    }
}
