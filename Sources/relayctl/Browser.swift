import Glibc

/// Opens an address that holds a secret in the user's browser. Used by `relayctl dashboard --open`.
///
/// The browser is given a file that redirects to the address, because every user of the machine may read
/// the arguments of every program.
enum Browser {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns when the started program has ended, or after three seconds. The file stays: the browser
    /// may read it later.
    static func open(_ address: String) throws(Failure) {
        let file = try pageLeading(to: address)
        let browser = variable("BROWSER").flatMap {
            $0.split(separator: ":").first.map(String.init)
        }
        try run(browser ?? "xdg-open", file)
    }

    /// Writes a page that redirects to the address, in a directory that only the user may read.
    private static func pageLeading(to address: String) throws(Failure) -> String {
        let directory = variable("XDG_RUNTIME_DIR") ?? ownDirectory()
        guard let directory else { throw failure("no directory for a file", errno) }
        let path = "\(directory)/relayd-dashboard.html"
        // Never written through a link, or into a file that somebody else has opened.
        unlink(path)
        let descriptor = Glibc.open(
            path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("\(path) cannot be made", errno) }
        defer { close(descriptor) }
        let page = """
            <!doctype html><meta charset="utf-8"><title>relayd</title>
            <meta http-equiv="refresh" content="0; url=\(escaped(address))">

            """
        let bytes = Array(page.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw failure("\(path) cannot be written", errno)
        }
        return path
    }

    private static func ownDirectory() -> String? {
        var template = Array("/tmp/relayctl-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "\"": result += "&quot;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
    }

    private static func run(_ browser: String, _ file: String) throws(Failure) {
        let arguments: [String] = [browser, "file://" + file]
        var words = arguments.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        // Discards standard error: failed attempts of xdg-open and complaints of browsers are of no use.
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var pid = pid_t()
        let code = posix_spawnp(&pid, browser, &actions, nil, words, environ)
        guard code == 0 else { throw failure("\(browser) cannot be started", code) }
        // A browser that was not running yet runs until its window is closed. Failures show up early.
        for _ in 0..<60 {
            var status: Int32 = 0
            let ended = waitpid(pid, &status, WNOHANG)
            guard ended == 0 || ended < 0 && errno == EINTR else {
                guard ended < 0 || status == 0 else {
                    throw Failure(description: "\(browser) opened no page; \(byHand)")
                }
                return
            }
            usleep(50_000)
        }
    }

    private static let byHand = "open the address that relayctl dashboard prints"

    private static func failure(_ what: String, _ code: Int32) -> Failure {
        Failure(description: "\(what): \(String(cString: strerror(code))); \(byHand)")
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// An SSH session that has no screen to open a browser on.
struct SSHSession {
    /// The address of this machine that ssh came to.
    let host: String

    /// nil where there is a screen.
    static var ofThisProcess: SSHSession? {
        let names: [String] = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        let hasScreen = names.contains { name in getenv(name).map { $0.pointee != 0 } ?? false }
        guard !hasScreen, let connection = getenv("SSH_CONNECTION") else { return nil }
        return SSHSession(connection: String(cString: connection))
    }

    /// - Parameter connection: `SSH_CONNECTION` as ssh(1) has it: the client's address and port, then
    ///   ours.
    init?(connection: String) {
        let parts = connection.split(separator: " ")
        guard parts.count == 4 else { return nil }
        host = String(parts[2])
    }

    /// What to type on the machine with the browser.
    func tunnel(to address: String) -> String {
        // http://127.0.0.1:2777/#token=…
        let place = address.split(separator: "/").dropFirst().first.map { String($0) } ?? address
        let port = place.split(separator: ":").last ?? "2777"
        return """
            this terminal came over ssh, so the browser is on your machine. There: \
            ssh -N -L \(port):\(place) \(host) and open the address that relayctl dashboard prints
            """
    }
}
