/// What the driver does and when: gets in, starts, drives a lap, parks, gets out, and begins again.
struct Driver: Sendable {
    /// An action of the driver's hands or feet.
    enum Act: Sendable {
        case door(Cabin.Door, isOpen: Bool)
        case ignition(Cabin.Ignition)
        case lever(Cabin.Lever)
        case parkingBrake(Bool)
        case refuel
        case go
        /// The next lap begins here.
        case again
    }

    /// Actions, each with its time in seconds since the vehicle stopped.
    private typealias Plan = [(at: Double, act: Act)]

    private static let leaving: Plan = [
        (1, .door(.driver, isOpen: true)), (2, .door(.passenger, isOpen: true)),
        (3, .door(.driver, isOpen: false)), (4, .door(.passenger, isOpen: false)),
        (5, .ignition(.accessory)), (6, .ignition(.start)), (7, .ignition(.run)),
        (8, .lever(.drive)), (9, .parkingBrake(false)), (10, .go),
    ]
    private static let arriving: Plan = [
        (1, .parkingBrake(true)), (2, .lever(.park)), (4, .ignition(.off)),
        (5, .door(.driver, isOpen: true)), (6, .door(.rearRight, isOpen: true)),
        (8, .door(.rearRight, isOpen: false)), (9, .door(.driver, isOpen: false)),
        (10, .refuel), (15, .again),
    ]

    private enum Phase: Sendable {
        case stands(plan: Int, step: Int, since: Double)
        case drives
        case waits(section: Int, until: Double)
    }

    private static let plans = [leaving, arriving]
    private var phase = Phase.stands(plan: 0, step: 0, since: 0)
    /// The traffic light at which the vehicle has already waited.
    private var served: Int?

    /// Deceleration before a turn or a stop, m/s².
    static let comfort = 1.8
    /// Metres before the end of the section.
    static let stopMargin = 1.0

    var drives: Bool { if case .drives = phase { true } else { false } }

    /// The actions due at this time, in order.
    ///
    /// - Parameter time: seconds since the drive began.
    mutating func acts(at time: Double) -> [Act] {
        switch phase {
        case .drives: return []
        case .waits(let section, let until):
            if time >= until {
                served = section
                phase = .drives
            }
            return []
        case .stands(let plan, var step, let since):
            var acts: [Act] = []
            let steps = Self.plans[plan]
            while step < steps.count, time >= since + steps[step].at - 1e-9 {
                acts.append(steps[step].act)
                step += 1
            }
            phase = .stands(plan: plan, step: step, since: since)
            for act in acts {
                switch act {
                case .go: phase = .drives
                case .again: phase = .stands(plan: 0, step: 0, since: time)
                default: break
                }
            }
            return acts
        }
    }

    /// The acceleration wanted, m/s².
    ///
    /// - Parameters:
    ///   - speed: m/s.
    ///   - distance: metres of this lap.
    mutating func acceleration(
        on course: Course, at distance: Double, speed: Double
    ) -> Double {
        guard drives else { return 0 }
        let section = course.section(at: distance)
        if let served, served != section { self.served = nil }
        let allowed = allowedSpeed(on: course, at: distance, section)
        let wanted = (allowed - speed) / 0.3
        // Strong from a standstill, less at higher speeds.
        let most = 2.0 - min(1.0, speed / 30)
        return max(-3.5, min(most, wanted))
    }

    private func stops(at section: Int, of course: Course) -> Bool {
        section == course.sections.count - 1
            || course.sections[section].wait > 0 && served != section
    }

    private func allowedSpeed(on course: Course, at distance: Double, _ section: Int) -> Double {
        var allowed = course.sections[section].limit
        for ahead in section..<course.sections.count {
            let isStop = stops(at: ahead, of: course)
            let margin = isStop ? Self.stopMargin : 0
            let room = max(0, course.remaining(of: ahead, from: distance) - margin)
            let next = isStop ? 0 : course.sections[ahead + 1].limit
            allowed = min(allowed, (next * next + 2 * Self.comfort * room).squareRoot())
            if isStop || room > 400 { break }
        }
        return allowed
    }

    /// Called while the vehicle drives.
    ///
    /// - Returns: Whether the vehicle has stopped.
    mutating func stop(
        on course: Course, at distance: Double, speed: Double, time: Double
    ) -> Bool {
        let section = course.section(at: distance)
        guard drives, speed < 0.6, stops(at: section, of: course),
            course.remaining(of: section, from: distance) < Self.stopMargin + 0.5
        else { return false }
        if section == course.sections.count - 1 {
            phase = .stands(plan: 1, step: 0, since: time)
        } else {
            phase = .waits(section: section, until: time + course.sections[section].wait)
        }
        return true
    }
}

/// The controls, doors and lights of the vehicle.
struct Cabin: Sendable {
    enum Door: String, Sendable, CaseIterable {
        case driver
        case passenger
        case rearLeft = "rear_left"
        case rearRight = "rear_right"
    }

    enum Ignition: String, Sendable {
        case off
        case accessory
        case start
        case run
    }

    enum Lever: String, Sendable {
        case park
        case drive
    }

    var open: Set<Door> = []
    var ignition = Ignition.off
    var lever = Lever.park
    var isParkingBrakeOn = true
    var areHeadlampsOn = false
    var isHighBeamOn = false
    var areWipersOn = false
}
