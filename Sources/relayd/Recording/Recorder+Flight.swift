package import ControlAPI
import RelayCore
import SDLTraffic

extension Recorder {
    /// Writes the traffic kept by the flight recorder to a new file, and returns when it is
    /// written.
    ///
    /// - Parameter label: Part of its name, besides its time.
    /// - Throws: `APIError` if there is no flight recorder, or no place for the file.
    package func save(_ label: String?) async throws -> SaveReport {
        SaveReport(saved: try await flight.save(label, writing))
    }

    private var writing: FlightControl.Writing {
        let policy = policy
        return .init(
            policy: policy, header: header(policy, startedAt: .now), executor: loop())
    }

    /// Called when an app or the link ended unexpectedly.
    func lost(_ loss: RelayLoss) {
        switch loss {
        case .app(let app, let reason): trigger(.appCrash, "\(app): \(reason)")
        case .link(let reason): trigger(.linkLost, "the link was lost: \(reason)")
        }
    }

    func consider(_ advice: Advice) {
        trigger(.advice(advice.code), "advice \(advice.code.rawValue): \(advice.sentence)")
    }

    private func trigger(_ trigger: SaveTrigger, _ words: @autoclosure () -> String) {
        guard policy.saveOn.contains(trigger) else { return }
        flight.trigger(.init(trigger: trigger, words: words())) { await self.saveByItself() }
    }

    /// Writes a file about the events that have happened, if any; later, if another file is being
    /// written.
    private func saveByItself() async {
        guard await flight.saveByItself({ writing }) != nil else { return }
        flight.after(SaveSchedule.settling) { await self.saveByItself() }
    }

    /// The same at shutdown: returns when all pending files are written.
    func saveAtLast() async {
        while let earlier = await flight.saveByItself({ writing }) { try? await earlier.get() }
    }
}
