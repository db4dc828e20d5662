import Testing

@testable import relayd

// Headers as browsers and programs really send them.

@Suite("BrowserMarks")
struct BrowserMarksTests {
    private func isFromBrowser(_ head: String) -> Bool {
        head.split(separator: "\n").contains { line in
            let parts = line.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return BrowserMarks.contain(
                parts[0].lowercased(), parts[1].drop { $0 == " " }.description)
        }
    }

    /// From a page to its own host by plain HTTP, the case in which browsers send the fewest marks.
    @Test(
        "a browser, also where it sends neither Origin nor Sec-Fetch",
        arguments: [
            // Chromium, fetch("/v1/dashboard", {referrerPolicy: "no-referrer"}).
            """
            Connection: keep-alive
            User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36
            Accept: */*
            Accept-Encoding: gzip, deflate
            Accept-Language: en-US,en;q=0.9
            """,
            // Firefox, where pages may choose the User-Agent.
            """
            User-Agent: curl/8.5.0
            Accept: */*
            Accept-Language: x
            Accept-Encoding: gzip, deflate
            Connection: keep-alive
            Priority: u=4
            """,
            // A browser whose owner hides the language.
            "User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15",
            "Referer: http://relayd/", "Origin: http://localhost:2777", "Accept-Language:",
            "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-GPC: 1",
        ])
    func browser(head: String) {
        #expect(isFromBrowser(head))
    }

    @Test(
        "a program",
        arguments: [
            "User-Agent: curl/8.5.0\nAccept: */*",
            "User-Agent: relayctl/1.0.0\nConnection: close",
            "User-Agent: Wget/1.21.4\nAccept: */*\nAccept-Encoding: identity\nConnection: Keep-Alive",
            """
            User-Agent: python-requests/2.32.3
            Accept-Encoding: gzip, deflate
            Accept: */*
            Connection: keep-alive
            """,
            "User-Agent: Go-http-client/1.1\nAccept-Encoding: gzip",
            """
            User-Agent: Prometheus/2.53.0
            Accept: application/openmetrics-text;version=1.0.0
            Accept-Encoding: gzip
            X-Prometheus-Scrape-Timeout-Seconds: 10
            """,
            "Accept: */*",
        ])
    func program(head: String) {
        #expect(!isFromBrowser(head))
    }
}
