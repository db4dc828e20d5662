import Glibc

/// The course that the simulated vehicle drives, over and over: a block with four right turns, a traffic light and
/// a fast side. It is closed, so that position, steering and speed match for as long as it runs.
struct Course: Sendable {
    struct Section: Sendable {
        /// Metres.
        var length: Double
        /// Radius of the turn in metres; nil where the road is straight.
        var radius: Double?
        /// Metres per second.
        var limit: Double
        /// Seconds to wait at its end, for a traffic light; 0 for no wait.
        var wait: Double = 0
    }

    /// Metres east and north of the start, and the vehicle's heading.
    struct Place: Sendable {
        var east = 0.0
        var north = 0.0
        /// Radians from east, counter-clockwise.
        var heading = 0.0
    }

    let sections: [Section]
    /// Where each section begins: metres from the start, and the place.
    private let starts: [(distance: Double, place: Place)]
    /// Length of one lap in metres.
    let length: Double

    static let block = Course(east: 1500, south: 900, radii: (15, 60, 80, 15))

    /// A rectangle with rounded corners, starting on its northern side, 50 m after the corner.
    private init(
        east: Double, south: Double, radii: (Double, Double, Double, Double)
    ) {
        func kmh(_ speed: Double) -> Double { speed / 3.6 }
        func turn(_ radius: Double, _ limit: Double) -> Section {
            Section(length: radius * .pi / 2, radius: radius, limit: kmh(limit))
        }
        let first = 400.0
        let last = 50.0
        sections = [
            Section(length: first, limit: kmh(50), wait: 8),
            Section(length: east - radii.3 - radii.0 - first - last, limit: kmh(60)),
            turn(radii.0, 18),
            Section(length: south - radii.0 - radii.1, limit: kmh(70)),
            turn(radii.1, 40),
            Section(length: east - radii.1 - radii.2, limit: kmh(110)),
            turn(radii.2, 45),
            Section(length: south - radii.2 - radii.3, limit: kmh(60)),
            turn(radii.3, 18),
            Section(length: last, limit: kmh(30)),
        ]
        var starts: [(Double, Place)] = []
        var distance = 0.0
        var place = Place()
        for section in sections {
            starts.append((distance, place))
            distance += section.length
            place = Self.place(behind: place, in: section, after: section.length)
        }
        self.starts = starts
        length = distance
    }

    /// - Parameter distance: metres from the start, less than `length`.
    func section(at distance: Double) -> Int {
        (starts.lastIndex { $0.distance <= distance }) ?? 0
    }

    /// Metres from `distance` to the end of a section of this lap.
    func remaining(of section: Int, from distance: Double) -> Double {
        starts[section].distance + sections[section].length - distance
    }

    func place(at distance: Double) -> Place {
        let index = section(at: distance)
        let start = starts[index]
        return Self.place(
            behind: start.place, in: sections[index], after: distance - start.distance)
    }

    private static func place(
        behind start: Place, in section: Section, after distance: Double
    ) -> Place {
        var place = start
        if let radius = section.radius {
            place.heading -= distance / radius
            // The centre of a right turn lies to the right.
            place.east += radius * (sin(start.heading) - sin(place.heading))
            place.north += radius * (cos(place.heading) - cos(start.heading))
        } else {
            place.east += distance * cos(start.heading)
            place.north += distance * sin(start.heading)
        }
        return place
    }
}
