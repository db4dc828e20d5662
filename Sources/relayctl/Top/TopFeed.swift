import ControlAPI
import NIOCore
import SDLProtocol
import Synchronization

/// Reads from relayd and puts the news into the inbox for the screen.
struct TopFeed: Sendable {
    let client: ControlClient
    let inbox: TopInbox
    /// Whether relayd is to colour what messages say.
    let hasColours: Bool

    /// Past messages to begin with: as many as fit a large screen.
    private static let past = 100
    private static let pause = Duration.milliseconds(500)
    private static let interval = Duration.seconds(1)

    /// Asks for status, counts and advice, once a second.
    func ask() async {
        var goneSince: Timestamp?
        while !Task.isCancelled {
            do throws(ControlClientError) {
                inbox.put([.status(try await client.status().value, .now)])
                goneSince = nil
                // An older relayd may not have these.
                if let stats = try? await client.ask(StatsReport.self, Routes.stats) {
                    inbox.put([.stats(stats.value)])
                }
                if let advice = try? await client.ask(AdviceList.self, Routes.advice) {
                    inbox.put([.advice(advice.value.advice)])
                }
            } catch {
                let since = goneSince ?? .now
                goneSince = since
                inbox.put([.gone(error.inShort, since: since)])
            }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    /// Follows the messages that the user wants to see.
    func follow(_ query: MessageQuery, stream: Int) async {
        var query = query
        if hasColours { query.add(.color, "1") }
        await follow(query, past: Self.past) { event in
            switch event {
            case .message(let json, _):
                TailMessage(json, keepingColours: hasColours).map { .message($0, stream: stream) }
            case .missed(let count): .missed(count, stream: stream)
            case .restarted: .restarted(stream: stream)
            // `ask` reads all advice once a second.
            case .advice: nil
            case .gone, .back: nil
            }
        } refused: { words in
            inbox.put([.refused(words, stream: stream)])
        }
    }

    /// Follows answers, for the latencies, when a filter hides some from `follow`.
    func followAnswers() async {
        var query = MessageQuery()
        query.add(.type, "response")
        query.add(.format, "summary")
        await follow(query, past: 0) { event in
            guard case .message(let json, _) = event else { return nil }
            return TailMessage(json, keepingColours: false).map { .answer($0) }
        } refused: { _ in
        }
    }

    private func follow(
        _ query: MessageQuery, past: Int, _ news: (MessageStream.Event) -> TopModel.News?,
        refused: (String) -> Void
    ) async {
        var beginning = MessageQuery()
        beginning.add(.last, "\(past)")
        while !Task.isCancelled {
            do {
                var stream = MessageStream(
                    client: client, query: query, beginning: beginning,
                    pause: { try await Task.sleep(for: Self.pause) })
                guard
                    try await stream.run({ events in
                        inbox.put(events.compactMap(news))
                        return !Task.isCancelled
                    })
                else { return }
            } catch let error as ControlClientError {
                guard error.mayPass else { return refused("\(error)") }
            } catch {
                return
            }
            do { try await Task.sleep(for: Self.pause) } catch { return }
        }
    }

    /// Loads one message in full.
    func open(_ number: Int) async {
        do throws(ControlClientError) {
            let (socket, answer) = try await client.get(Routes.path(Routes.message, "\(number)"))
            guard let whole = try? JSONObject(ByteBuffer(bytes: answer.body)) else {
                throw .notUnderstood(
                    socket.path, server: answer.server, problem: "there is no \"message\" in it")
            }
            inbox.put([.opened(number, whole)])
        } catch {
            inbox.put([.notOpened(number, "\(error)")])
        }
    }
}

/// News not yet shown, and the function that wakes the session for it.
final class TopInbox: Sendable {
    private let news = Mutex<[TopModel.News]>([])
    private let wake: @Sendable () -> Void

    /// Messages and reports kept: more than arrive between two screens. Older ones are dropped, because a
    /// terminal may be stopped for hours.
    static let maximumMessages = 2000
    static let maximumReports = 100

    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    func put(_ more: [TopModel.News]) {
        guard !more.isEmpty else { return }
        news.withLock { news in
            news += more
            // Done rarely, because it touches everything.
            if news.count >= 2 * Self.maximumMessages { Self.shorten(&news) }
        }
        wake()
    }

    private static func shorten(_ news: inout [TopModel.News]) {
        var (messages, reports) = (0, 0)
        news = news.reversed().filter { item in
            switch item {
            case .message, .answer, .missed:
                messages += 1
                return messages <= maximumMessages
            case .status, .stats, .advice, .gone:
                reports += 1
                return reports <= maximumReports
            case .restarted, .refused, .opened, .notOpened: return true
            }
        }.reversed()
    }

    func take() -> [TopModel.News] {
        news.withLock { news in
            let all = news
            news = []
            return all
        }
    }
}
