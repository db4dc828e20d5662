import ControlAPI
import Logging
import RelayCore
import Testing

@testable import relayd

// The effects of a changed configuration on a running relayd.

@Suite("ReloadPlan")
struct ReloadPlanTests {
    private func plan(_ running: Config, _ wanted: Config) -> ReloadPlan {
        ReloadPlan(from: EffectiveConfig(running), to: EffectiveConfig(wanted))
    }

    @Test("an unchanged configuration changes nothing")
    func unchanged() {
        let plan = plan(Config(), Config())
        #expect(plan.applied.isEmpty && plan.needingRestart.isEmpty)
        #expect(plan.summary(unit: nil) == "nothing has changed")
    }

    @Test("what can change at run time does, the rest waits for a restart and is named")
    func mixed() {
        var wanted = Config()
        wanted.hub.holdTimeout = .seconds(5)
        wanted.log.level = .debug
        wanted.limits.ring = 0
        wanted.control.mode = 0o600
        let plan = plan(Config(), wanted)
        #expect(plan.applied == ["apps.hold_timeout", "log.level"])
        #expect(plan.needingRestart == ["limits.ring", "control.mode"])
        #expect(plan.config.hub.holdTimeout == .seconds(5))
        #expect(plan.config.limits.ring == Config().limits.ring)
        #expect(
            plan.summary(unit: SystemdUnit(name: "relayd@left.service")) == """
                changed apps.hold_timeout, log.level; limits.ring, control.mode need a restart: \
                systemctl restart relayd@left
                """)
        #expect(plan.summary(unit: nil).hasSuffix("limits.ring, control.mode need a restart"))
    }

    @Test("what waits for a restart is named again at the next reload")
    func stillWaiting() {
        var wanted = Config()
        wanted.rpcValidation = false
        let first = plan(Config(), wanted)
        #expect(plan(first.config, wanted).needingRestart == ["rpc_validation"])
    }

    @Test("what connections keep is said to be for new ones")
    func newConnections() {
        var wanted = Config()
        wanted.hub.silentTimeout = .zero
        #expect(
            plan(Config(), wanted).summary(unit: nil)
                == "changed apps.silent_timeout (for new connections)")
    }

    @Test("who asked for a reload is told what holds only for later recordings and connections")
    func told() {
        var wanted = Config()
        wanted.record.mask = ["vin"]
        #expect(
            plan(Config(), wanted).report.summary
                == "the configuration has been reloaded; record.mask applies to the next recording")
        wanted.record.directory = "/var/tmp/other"
        wanted.hub.silentTimeout = .zero
        #expect(
            plan(Config(), wanted).report.summary == """
                the configuration has been reloaded; apps.silent_timeout applies to new connections; \
                record.directory, record.mask apply to the next recording
                """)
        wanted = Config()
        wanted.log.level = .debug
        #expect(plan(Config(), wanted).report.summary == "the configuration has been reloaded")
    }

    @Test("an applied value brings its origin along, one that waits keeps its old one")
    func origins() {
        let old = ConfigOrigin.environment("OLD")
        let new = ConfigOrigin.environment("NEW")
        var wanted = Config()
        wanted.log.level = .debug
        wanted.limits.ring = 0
        let paths = ["log.level", "limits.ring"]
        let plan = ReloadPlan(
            from: EffectiveConfig(Config(), origins: [paths[1]: old]),
            to: EffectiveConfig(wanted, origins: [paths[0]: new, paths[1]: new]))
        let places = plan.effective.report.options.filter { paths.contains($0.path) }.map(\.place)
        #expect(Set(places) == ["OLD", "NEW"])
        #expect(plan.report.changed == ["log.level"])
        #expect(plan.report.needsRestart == ["limits.ring"])
    }

    @Test("every reloadable option is an option")
    func known() {
        let paths = Set(ConfigSchema().options.map(\.path))
        #expect(ReloadPlan.reloadable.subtracting(paths) == [])
        #expect(ReloadPlan.forNewConnections.subtracting(ReloadPlan.reloadable) == [])
    }
}
