// Output of decoded traffic: the traffic log's lines, written by a `LineWriter`.

import SDLTraffic

extension LineWriter {
    /// Queues a batch of finished lines. Never blocks.
    func write(_ lines: [TrafficLine]) {
        if isJournal {
            for line in lines {
                write(
                    String(decoding: line.text, as: UTF8.self),
                    priority: SyslogPriority(line.priority), fields: line.journalFields)
            }
        } else {
            write(batch: lines.map { ($0.text, SyslogPriority($0.priority)) })
        }
    }
}

extension SyslogPriority {
    init(_ priority: TrafficPriority) {
        switch priority {
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        case .error: self = .error
        }
    }
}
