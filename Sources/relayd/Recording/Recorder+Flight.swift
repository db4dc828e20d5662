package import ControlAPI
import RelayCore
import SDLTraffic

extension Recorder {
    /// Writes what the flight recorder has kept into a new file, and returns when it is written.
    ///
    /// - Parameter label: What it is called, beside its time.
    /// - Throws: `APIError` when there is no flight recorder, or no place for the file.
    package func save(_ label: String?) async throws -> SaveReport {
        let policy = policy
        let saved = try await flight.save(
            label, because: "somebody asked for it", [], policy,
            header(policy, startedAt: .now), on: loop())
        return SaveReport(saved: saved)
    }

    /// Something ended that nobody had ended.
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

    /// Writes a file about what has happened, if something has.
    func saveByItself() async {
        if flight.whenSaved({ await self.saveByItself() }) { return }
        guard let (words, triggers) = flight.takeCauses(), let first = triggers.first else {
            return
        }
        let policy = policy
        do {
            _ = try await flight.save(
                first.rawValue, because: words, triggers, policy,
                header(policy, startedAt: .now), on: loop())
        } catch {
            logger.error("\(words), and no file of it: \(Self.words(error))")
        }
    }
}
