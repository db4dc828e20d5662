/// Units of the signals in the message format, and of those that the firmware derives from predefined OBD-II
/// requests (openxc-message-format 0.8, "Signals"; vi-firmware 8.2.1). Other names are legal and common;
/// their units are unknown.
package enum SignalUnits {
    package static func unit(of name: String) -> String? { units[name] }

    private static let units: [String: String] = [
        "steering_wheel_angle": "°",
        "torque_at_transmission": "Nm", "powertrain_torque": "Nm", "engine_torque": "Nm",
        "engine_speed": "rpm",
        "vehicle_speed": "km/h",
        "accelerator_pedal_position": "%", "throttle_position": "%",
        "commanded_throttle_position": "%", "engine_load": "%", "fuel_level": "%",
        "ethanol_fuel_percentage": "%",
        "odometer": "km", "fine_odometer_since_restart": "km",
        "fuel_consumed_since_restart": "L",
        "latitude": "°", "longitude": "°",
        "engine_coolant_temperature": "°C", "intake_air_temperature": "°C",
        "engine_oil_temperature": "°C",
        "barometric_pressure": "kPa", "intake_manifold_pressure": "kPa", "fuel_pressure": "kPa",
        "running_time": "s",
        "mass_airflow": "g/s",
    ]
}
