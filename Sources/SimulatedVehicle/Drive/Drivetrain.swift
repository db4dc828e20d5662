import Glibc

/// Engine, automatic gearbox and tank of a small car. Forces in N, speeds in m/s, torques in Nm.
struct Drivetrain: Sendable {
    static let ratios = [3.5, 2.1, 1.4, 1.0, 0.78, 0.62]
    static let finalDrive = 3.5
    /// Metres.
    static let wheelRadius = 0.31
    static let mass = 1500.0
    static let idleSpeed = 750.0
    static let crankingSpeed = 220.0
    static let tankLitres = 50.0
    static let ambient = 20.0

    enum Engine: Sendable {
        case off
        case cranking
        case runs
    }

    var engine = Engine.off
    /// The lever is at D.
    var isInDrive = false
    /// The gear, counted from 0.
    private(set) var gear = 0
    /// Revolutions per minute.
    private(set) var engineSpeed = 0.0
    /// Torque at the gearbox's output.
    private(set) var torque = 0.0
    /// Load from 0 to 1, as a share of what the engine can give.
    private(set) var load = 0.0
    /// Percent.
    private(set) var pedal = 0.0
    private(set) var isBraking = true
    private(set) var litresUsed = 0.0
    /// Litres since the engine was started.
    private(set) var litresSinceStart = 0.0
    private(set) var secondsSinceStart = 0.0
    private(set) var litresPerHour = 0.0
    private(set) var litresInTank = 0.62 * Drivetrain.tankLitres
    /// Degrees Celsius.
    private(set) var coolant = Drivetrain.ambient

    /// Engine revolutions per minute in `gear` without slip.
    static func engineSpeed(at speed: Double, gear: Int) -> Double {
        speed / (2 * .pi * wheelRadius) * 60 * ratios[gear] * finalDrive
    }

    /// - Parameters:
    ///   - speed: that of the vehicle.
    ///   - acceleration: m/s², from engine and brakes.
    mutating func advance(by seconds: Double, speed: Double, acceleration: Double) {
        switch engine {
        case .off: engineSpeed = 0
        case .cranking:
            engineSpeed = Self.crankingSpeed
            (secondsSinceStart, litresSinceStart) = (0, 0)
        case .runs:
            secondsSinceStart += seconds
            shift(at: speed)
            engineSpeed = max(Self.idleSpeed, Self.engineSpeed(at: speed, gear: gear))
        }
        let resistance = speed > 0 ? 200 + 0.4 * speed * speed : 0
        let force = engine == .runs && isInDrive ? Self.mass * acceleration + resistance : 0
        isBraking = engine == .runs && (!isInDrive || acceleration < -0.4 || speed == 0)
        let drive = isBraking ? 0 : max(0, force)
        torque = isInDrive ? max(-500, min(1500, force * Self.wheelRadius / Self.finalDrive)) : 0
        if isBraking { torque = min(0, max(torque, -60)) }
        pedal = min(100, drive / 60)
        load = engine == .runs ? min(1, 0.12 + drive * max(speed, 2) / 90_000) : 0
        burn(seconds, kilowatts: drive * speed / 1000)
        warm(seconds)
    }

    private mutating func shift(at speed: Double) {
        guard isInDrive, speed > 0.5 else {
            gear = 0
            return
        }
        while gear + 1 < Self.ratios.count, Self.engineSpeed(at: speed, gear: gear) > 2500 {
            gear += 1
        }
        while gear > 0, Self.engineSpeed(at: speed, gear: gear) < 1200 { gear -= 1 }
    }

    private mutating func burn(_ seconds: Double, kilowatts: Double) {
        litresPerHour = engine == .runs ? 0.8 + 0.3 * kilowatts : 0
        let litres = litresPerHour * seconds / 3600
        litresUsed += litres
        litresSinceStart += litres
        litresInTank = max(0, litresInTank - litres)
    }

    private mutating func warm(_ seconds: Double) {
        let goal = engine == .runs ? 90 : Self.ambient
        coolant += (goal - coolant) * min(1, seconds / (engine == .runs ? 90 : 1800))
    }

    /// Fills the tank when little is left.
    mutating func refuel() {
        if litresInTank < 0.1 * Self.tankLitres { litresInTank = 0.9 * Self.tankLitres }
    }

    // MARK: - Names (openxc-message-format, "Official Signals")

    static let gearNames = ["first", "second", "third", "fourth", "fifth", "sixth"]
    var gearName: String { isInDrive ? Self.gearNames[gear] : "neutral" }
}
