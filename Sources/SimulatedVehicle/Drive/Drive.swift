import Glibc

/// A drive in steps of `step` seconds. All its values match, because each follows from another: the driver wants a
/// speed, the speed turns the engine and moves the vehicle along the course, and the engine burns fuel. Every drive
/// is the same.
package struct Drive: Sendable {
    /// Seconds.
    static let step = 0.1
    /// The steering gear's ratio, and the wheelbase in metres.
    private static let steeringRatio = 15.5
    private static let wheelbase = 2.7
    /// Where the course begins; one degree of latitude is 111.32 km.
    private static let home = (latitude: 42.3, longitude: -83.2)

    let course = Course.block
    private var driver = Driver()
    private(set) var cabin = Cabin()
    private(set) var train = Drivetrain()
    private var steps = 0
    private(set) var laps = 0
    /// Metres of this lap.
    private(set) var distance = 0.0
    /// m/s.
    private(set) var speed = 0.0
    /// Metres driven in its life.
    private(set) var metres = 13_966_000.0
    /// Degrees at the steering wheel, positive to the right.
    private(set) var steering = 0.0
    /// The button pressed or released in the last step.
    private(set) var button: Button?

    /// A button on the steering wheel.
    struct Button: Sendable, Equatable {
        var name: String
        var event: String
    }

    package init() {}

    /// Seconds since it began.
    var time: Double { Double(steps) * Self.step }

    package mutating func advance() {
        steps &+= 1
        for act in driver.acts(at: time) { take(act) }
        let acceleration = driver.acceleration(on: course, at: distance, speed: speed)
        let before = speed
        speed = max(0, speed + acceleration * Self.step)
        // The mean speed of the step, so that the distance is the integral of the speed.
        let driven = (before + speed) / 2 * Self.step
        distance += driven
        metres += driven
        if driver.stop(on: course, at: distance, speed: speed, time: time) { speed = 0 }
        if distance >= course.length { distance -= course.length }
        train.advance(by: Self.step, speed: speed, acceleration: acceleration)
        steer()
        light()
        press(driven)
    }

    private mutating func take(_ act: Driver.Act) {
        switch act {
        case .door(let door, isOpen: true): cabin.open.insert(door)
        case .door(let door, isOpen: false): cabin.open.remove(door)
        case .ignition(let position):
            cabin.ignition = position
            train.engine =
                switch position {
                case .off, .accessory: .off
                case .start: .cranking
                case .run: .runs
                }
        case .lever(let lever):
            cabin.lever = lever
            train.isInDrive = lever == .drive
        case .parkingBrake(let isOn): cabin.isParkingBrakeOn = isOn
        case .refuel: train.refuel()
        case .go: break
        case .again:
            laps &+= 1
            // The vehicle stopped a little before the end of the lap; the next one starts from 0.
            distance = 0
        }
    }

    /// Turns the steering wheel no faster than hands do.
    private mutating func steer() {
        var goal = 0.0
        if speed > 0 {
            if let radius = course.sections[course.section(at: distance)].radius {
                goal = atan(Self.wheelbase / radius) * 180 / .pi * Self.steeringRatio
            }
            goal += 1.5 * sin(0.7 * time)
            steering += max(-25, min(25, goal - steering))
        }
    }

    /// Every second lap is at night, with rain on its second side.
    private mutating func light() {
        let isNight = laps % 2 == 1 && cabin.ignition == .run
        let section = course.section(at: distance)
        cabin.areHeadlampsOn = isNight
        cabin.isHighBeamOn = isNight && section == 5 && speed > 15
        cabin.areWipersOn = isNight && section == 3
    }

    /// Presses two buttons per lap.
    private mutating func press(_ driven: Double) {
        button = nil
        guard driven > 0 else { return }
        for (name, place) in [("ok", 600.0), ("up", 2800)] {
            for (event, place) in [("pressed", place), ("released", place + 15)]
            where distance - driven < place && distance >= place {
                button = Button(name: name, event: event)
            }
        }
    }

    /// Degrees.
    var position: (latitude: Double, longitude: Double) {
        let place = course.place(at: distance)
        let degree = 111_320.0
        return (
            Self.home.latitude + place.north / degree,
            Self.home.longitude + place.east / (degree * cos(Self.home.latitude * .pi / 180))
        )
    }

    /// km/h.
    var kilometresPerHour: Double { speed * 3.6 }
    /// km.
    var odometer: Double { metres / 1000 }
    /// Percent.
    var fuelLevel: Double { train.litresInTank / Drivetrain.tankLitres * 100 }
}
