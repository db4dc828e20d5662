import ControlAPI
import SDLAdvice
import SDLProtocol
import SDLTraffic

/// relayd's metrics: their names, and where their numbers come from. Created by `ReportHandlers`
/// for each request.
///
/// The number of series does not depend on what peers send: names of apps, functions and result
/// codes are bounded by `TrafficStatistics`, and there is no label for a connection or a session.
/// Latency is a histogram per kind of request; one per function would be 1,400 series that are
/// mostly empty, so the percentiles of each function and app are in `GET /v1/stats` instead.
struct Metrics {
    let status: StatusSnapshot
    let statistics: TrafficStatistics.Counts
    let advice: [AdviceCode: Int]
    let ring: (entries: Int, bytes: Int)
    let usage: ProcessUsage

    private typealias Sample = PrometheusText.Sample

    var text: String {
        var page = PrometheusText()
        addProgram(to: &page)
        addLink(to: &page)
        addApps(to: &page)
        addTraffic(to: &page)
        addRPCs(to: &page)
        addObservers(to: &page)
        return page.text
    }

    private func addProgram(to page: inout PrometheusText) {
        page.family(
            "relayd_build_info", .gauge, "Always 1; the label has the version.",
            [Sample(1, ("version", status.relayd.version))])
        page.family(
            "relayd_healthy", .gauge, "1 when the head unit is open and apps can connect.",
            [Sample(status.health == .ok ? 1 : 0)])
        page.family(
            "process_start_time_seconds", .gauge, "Start of relayd since the Unix epoch.",
            [Sample(Double(status.relayd.startedAt.millisecondsSince1970) / 1000)])
        page.family(
            "process_cpu_seconds_total", .counter, "Processor time relayd has used.",
            [Sample(usage.cpuSeconds)])
        page.family(
            "process_resident_memory_bytes", .gauge, "Memory of relayd that is resident.",
            usage.residentBytes.map { [Sample($0)] } ?? [])
        page.family(
            "process_open_fds", .gauge, "Descriptors relayd has open.",
            usage.openDescriptors.map { [Sample($0)] } ?? [])
    }

    private func addLink(to page: inout PrometheusText) {
        let accessory = status.accessory
        let states: [AccessoryState] = [.open, .opening, .listening, .waiting, .closed]
        page.family(
            "relayd_link_state", .gauge, "1 for the state the link to the head unit is in.",
            states.map { Sample(accessory.state == $0 ? 1 : 0, ("state", $0.rawValue)) })
        page.family(
            "relayd_link_opened_total", .counter,
            "How often the link was opened; one less is how often it was reopened.",
            [Sample(accessory.openedCount)])
        page.family(
            "relayd_link_frames_total", .counter, "Whole frames that crossed the link.",
            [
                Sample(accessory.framesIn, ("from", "accessory")),
                Sample(accessory.framesOut, ("from", "app")),
            ])
        page.family(
            "relayd_link_bytes_total", .counter, "Bytes that crossed the link, headers included.",
            [
                Sample(accessory.bytesIn, ("from", "accessory")),
                Sample(accessory.bytesOut, ("from", "app")),
            ])
        page.family(
            "relayd_link_garbage_bytes_total", .counter,
            "Bytes of the head unit that belonged to no frame.", [Sample(accessory.garbageBytes)])
        page.family(
            "relayd_link_lost_bytes_total", .counter,
            "Bytes that were in flight when a link ended, on links that can tell.",
            [("accessory", accessory.lostBytesIn), ("app", accessory.lostBytesOut)]
                .compactMap { sender, bytes in bytes.map { Sample($0, ("from", sender)) } })
        page.family(
            "relayd_link_queue_bytes", .gauge, "Bytes of apps that wait for the link.",
            [Sample(status.link.queueBytes ?? 0)])
        page.family(
            "relayd_link_paused", .gauge, "1 while apps are held back because the link is full.",
            [Sample(status.link.paused ? 1 : 0)])
        page.family(
            "relayd_sessions", .gauge, "Sessions on the head unit.",
            [
                Sample(
                    status.link.sessions - status.link.sessionsInFarewell, ("state", "open")),
                Sample(status.link.sessionsInFarewell, ("state", "ending")),
            ])
        page.family(
            "relayd_start_service_queue", .gauge, "StartServices that wait for their turn.",
            [Sample(status.link.startServiceQueue)])
    }

    private func addApps(to page: inout PrometheusText) {
        page.family(
            "relayd_server_listening", .gauge, "1 while apps can connect.",
            [Sample(status.server.state == .listening ? 1 : 0)])
        page.family("relayd_apps", .gauge, "Apps that are connected.", [Sample(status.apps.count)])
        page.family(
            "relayd_apps_registered", .gauge, "Apps that are registered.",
            [Sample(status.apps.count { $0.state == .registered })])
        page.family(
            "relayd_app_connections_refused_total", .counter, "Connections turned away.",
            [Sample(status.server.refusedCount)])
        page.family(
            "relayd_app_queue_bytes", .gauge, "Bytes that wait for apps, of all together.",
            [Sample(status.apps.reduce(0) { $0 + $1.queueBytes })])
        page.family(
            "relayd_app_queue_max_bytes", .gauge, "Bytes that wait for the slowest app.",
            [Sample(status.apps.map(\.queueBytes).max() ?? 0)])
        page.family(
            "relayd_limit_hits_total", .counter, "How often one of relayd's limits was hit.",
            status.limitsHit.map { Sample($0.count, ("limit", $0.name)) })
    }

    private func addTraffic(to page: inout PrometheusText) {
        let lanes = statistics.lanes.sorted { $0.key.sortKey < $1.key.sortKey }
        page.family(
            "relayd_app_frames_total", .counter, "Frames by app, service and sender, as decoded.",
            lanes.map { lane, amount in
                Sample(
                    amount.frames, ("app", lane.app), ("service", lane.service.name),
                    ("from", lane.direction.sender))
            })
        page.family(
            "relayd_app_payload_bytes_total", .counter,
            "Payload bytes by app, service and sender, as decoded.",
            lanes.map { lane, amount in
                Sample(
                    amount.bytes, ("app", lane.app), ("service", lane.service.name),
                    ("from", lane.direction.sender))
            })
        page.family(
            "relayd_dropped_frames_total", .counter, "Frames that were not forwarded.",
            statistics.dropped.sorted { $0.key < $1.key }
                .map { Sample($0.value, ("reason", $0.key)) })
    }

    private func addRPCs(to page: inout PrometheusText) {
        let functions = statistics.functions.sorted { $0.key < $1.key }
        page.family(
            "relayd_rpc_requests_total", .counter, "Requests by function.",
            functions.filter { $0.value.usage.requests > 0 }
                .map { Sample($0.value.usage.requests, ("function", $0.key)) })
        page.family(
            "relayd_rpc_responses_total", .counter, "Responses by function and result code.",
            functions.flatMap { name, function in
                function.results.sorted { $0.key < $1.key }
                    .map { Sample($0.value, ("function", name), ("result", $0.key)) }
            })
        page.family(
            "relayd_rpc_notifications_total", .counter, "Notifications by function.",
            functions.filter { $0.value.usage.notifications > 0 }
                .map { Sample($0.value.usage.notifications, ("function", $0.key)) })
        page.family(
            "relayd_rpc_unanswered_total", .counter,
            "Requests whose answer was late or never came.",
            [Sample(statistics.unanswered)])
        let kinds = statistics.latency.sorted { $0.key.sortKey < $1.key.sortKey }
        page.family(
            "relayd_rpc_latency_seconds", .histogram,
            "Time from request to response, by who asked and whether a person has to answer.",
            kinds.flatMap { kind, histogram in
                Sample.histogram(
                    bounds: LatencyHistogram.bounds.map { Double($0) / 1e9 },
                    counts: histogram.counts, sum: Double(histogram.sum) / 1e9,
                    ("from", kind.requester.sender),
                    ("answered_by", kind.waitsForPeople ? "person" : "machine"))
            })
    }

    private func addObservers(to page: inout PrometheusText) {
        page.family(
            "relayd_unseen_frames_total", .counter,
            "Frames that were forwarded and that log, facts and these counters never saw.",
            [Sample(statistics.unseenFrames)])
        page.family(
            "relayd_log_lines_dropped_total", .counter, "Log lines that could not be written.",
            [Sample(status.log.droppedLines)])
        page.family(
            "relayd_ring_messages", .gauge, "Messages kept for relayctl.", [Sample(ring.entries)])
        page.family(
            "relayd_ring_bytes", .gauge, "Bytes of the messages kept for relayctl.",
            [Sample(ring.bytes)])
        page.family(
            "relayd_advice_total", .counter, "How often each piece of advice applied.",
            advice.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { Sample($0.value, ("code", $0.key.rawValue)) })
    }
}

extension TrafficStatistics.Counts.Lane {
    var sortKey: (String, UInt8, String) { (app, service.rawValue, direction.sender) }
}

extension TrafficStatistics.Counts.LatencyKind {
    fileprivate var sortKey: (String, Int) { (requester.sender, waitsForPeople ? 1 : 0) }
}
