import ControlAPI
import Testing

@Suite struct StatusSnapshotTests {
    @Test("the JSON of schema 1 reads and writes as it did when it was published")
    func schemaIsStable() throws {
        let snapshot = try APICoding.decode(
            StatusSnapshot.self, from: Array(PublishedStatus.schema1.utf8))
        let written = String(decoding: try APICoding.encode(snapshot), as: UTF8.self)
        #expect(written == PublishedStatus.schema1)
    }

    @Test("the published JSON means what its fields say") func fieldsMeanWhatTheySay() throws {
        let snapshot = try APICoding.decode(
            StatusSnapshot.self, from: Array(PublishedStatus.schema1.utf8))
        #expect(snapshot.schema == 1)
        #expect(snapshot.health == .notConnected)
        #expect(snapshot.relayd.uptimeSeconds == 3600)
        #expect(snapshot.accessory.reason?.remedy == "plug it in")
        #expect(snapshot.accessory.framesIn == 33 && snapshot.accessory.bytesOut == 304_747)
        #expect(snapshot.link.sessionsInFarewell == 1 && snapshot.link.paused)
        #expect(snapshot.server.endpoints == ["127.0.0.1:2776", "[::1]:2776"])
        #expect(snapshot.apps.first?.sessions == [1, 7])
        #expect(snapshot.apps.first?.hmiLevel == "FULL")
        #expect(snapshot.recentDepartures.first?.reason == "closed by the app")
        #expect(snapshot.log.droppedBatches == 2 && snapshot.log.droppedLines == 3)
        #expect(snapshot.limitsHit.first?.count == 4)
    }

    @Test("a newer relayd may add fields and words") func isAdditive() throws {
        let newer = PublishedStatus.schema1
            .replacing("\"waiting\"", with: "\"charging\"")
            .replacing("\"schema\" : 1,", with: "\"schema\" : 1, \"weather\" : {\"rain\" : true},")
        let snapshot = try APICoding.decode(StatusSnapshot.self, from: Array(newer.utf8))
        #expect(snapshot.accessory.state.rawValue == "charging")
    }

    @Test("what does not apply is left out of the JSON") func leavesOutNil() throws {
        let snapshot = StatusSnapshot(
            relayd: RelaydStatus(pid: 1, startedAt: Samples.start, uptimeSeconds: 0),
            accessory: Samples.accessory(), link: LinkStatus(state: .idle),
            server: Samples.listening, apps: [Samples.app(1, .connected)])
        let json = String(decoding: try APICoding.encode(snapshot), as: UTF8.self)
        #expect(!json.contains("null"))
        #expect(!json.contains("reason") && !json.contains("app_name"))
        #expect(try APICoding.decode(StatusSnapshot.self, from: Array(json.utf8)) == snapshot)
    }

    @Test("a snapshot judges itself") func carriesVerdict() {
        let snapshot = StatusSnapshot(
            relayd: RelaydStatus(pid: 1, startedAt: Samples.start, uptimeSeconds: 0),
            accessory: Samples.accessory(), link: LinkStatus(state: .idle),
            server: Samples.listening)
        #expect(snapshot.health == .ok)
        #expect(snapshot.summary.hasPrefix("head unit open (sim:)"))
        #expect(HealthReport(snapshot).summary == snapshot.summary)
    }

    @Test("only the latest departures are kept") func boundsDepartures() {
        let gone = (0..<20).map {
            AppDeparture(id: $0, peer: "p", closedAt: Samples.start, reason: "r")
        }
        let snapshot = StatusSnapshot(
            relayd: RelaydStatus(pid: 1, startedAt: Samples.start, uptimeSeconds: 0),
            accessory: Samples.accessory(), link: LinkStatus(state: .idle),
            server: Samples.listening, recentDepartures: gone)
        #expect(snapshot.recentDepartures.map(\.id) == Array(0..<8))
    }
}

/// Statuses as published: never edited, only followed by those of later schemas.
private enum PublishedStatus {
    static let schema1 = """
        {
          "accessory" : {
            "address" : "serial:/dev/ttyUSB0?baud=115200",
            "attempts" : 12,
            "bytes_in" : 33280,
            "bytes_out" : 304747,
            "frames_in" : 33,
            "frames_out" : 20,
            "garbage_bytes" : 64,
            "hint" : "this looks like an OpenXC stream",
            "kind" : "serial",
            "name" : "SDL Core (Generic)",
            "opened_count" : 2,
            "reason" : {
              "code" : "not_found",
              "message" : "/dev/ttyUSB0: no such device",
              "remedy" : "plug it in"
            },
            "since" : "2026-11-21T10:31:07.042Z",
            "state" : "waiting"
          },
          "apps" : [
            {
              "app_id" : "4711",
              "app_name" : "Relay Test App",
              "bytes_from_app" : 304742,
              "bytes_to_app" : 33280,
              "connected_at" : "2026-11-21T10:31:08.000Z",
              "frames_from_app" : 20,
              "frames_to_app" : 33,
              "hmi_level" : "FULL",
              "id" : 1,
              "last_problem" : "sent a frame of session 9, which it does not own",
              "peer" : "127.0.0.1:40112",
              "protocol_version" : "5.4.0",
              "queue_bytes" : 512,
              "refused_frames" : 1,
              "sessions" : [
                1,
                7
              ],
              "state" : "registered"
            }
          ],
          "health" : "not_connected",
          "limits_hit" : [
            {
              "count" : 4,
              "last_at" : "2026-11-21T10:30:00.000Z",
              "limit" : 1048576,
              "name" : "app_queue_bytes"
            }
          ],
          "link" : {
            "paused" : true,
            "protocol_version" : "5.4.0",
            "sessions" : 2,
            "sessions_in_farewell" : 1,
            "start_service_queue" : 3,
            "state" : "sessions"
          },
          "log" : {
            "dropped_batches" : 2,
            "dropped_lines" : 3
          },
          "recent_departures" : [
            {
              "app_name" : "Radio",
              "closed_at" : "2026-11-21T10:29:50.500Z",
              "id" : 0,
              "peer" : "127.0.0.1:40100",
              "reason" : "closed by the app"
            }
          ],
          "relayd" : {
            "pid" : 4242,
            "started_at" : "2026-11-21T09:31:07.000Z",
            "uptime_seconds" : 3600,
            "version" : "0.1.0"
          },
          "schema" : 1,
          "server" : {
            "connections" : 1,
            "endpoints" : [
              "127.0.0.1:2776",
              "[::1]:2776"
            ],
            "reason" : "not quite",
            "refused_count" : 5,
            "state" : "listening"
          },
          "summary" : "waiting for the head unit"
        }

        """
}
