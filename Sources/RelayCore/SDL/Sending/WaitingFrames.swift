// The storage of `LinkScheduler`: all waiting frames in one array, each a link of its lane's chain.

/// First-in-first-out chains that share one pool, so that a frame that waits costs no allocation
/// once the pool has grown to what the link needs.
struct WaitingFrames<Entry> {
    private struct Node {
        var entry: Entry?
        var sequence: UInt64
        var next: Int32
    }

    /// One chain; empty when `first` is negative.
    struct Chain {
        fileprivate(set) var first: Int32 = -1
        fileprivate var last: Int32 = -1

        var isEmpty: Bool { first < 0 }
    }

    /// Nodes kept when nothing waits: some 80 KB. A pool grown beyond that in a burst is freed.
    private static var keptNodes: Int { 1024 }

    private var nodes: ContiguousArray<Node> = []
    private var free: Int32 = -1
    private var lastSequence: UInt64 = 0
    private(set) var count = 0

    mutating func append(_ entry: Entry, to chain: inout Chain) {
        lastSequence += 1
        count += 1
        let node = Node(entry: entry, sequence: lastSequence, next: -1)
        var index = free
        if index >= 0 {
            free = nodes[Int(index)].next
            nodes[Int(index)] = node
        } else {
            index = Int32(nodes.count)
            nodes.append(node)
        }
        if chain.last >= 0 { nodes[Int(chain.last)].next = index } else { chain.first = index }
        chain.last = index
    }

    mutating func removeFirst(of chain: inout Chain) -> Entry? {
        guard chain.first >= 0 else { return nil }
        let index = Int(chain.first)
        let entry = nodes[index].entry.take()
        chain.first = nodes[index].next
        if chain.first < 0 { chain.last = -1 }
        nodes[index].next = free
        free = Int32(index)
        count -= 1
        if count == 0, nodes.count > Self.keptNodes { (nodes, free) = ([], -1) }
        return entry
    }

    func first(of chain: Chain) -> Entry? {
        chain.isEmpty ? nil : nodes[Int(chain.first)].entry
    }

    /// The number of the chain's first frame in order of arrival; of two frames, the later has the
    /// larger number.
    func firstSequence(of chain: Chain) -> UInt64 {
        chain.isEmpty ? .max : nodes[Int(chain.first)].sequence
    }

    /// All of them, in the order they came.
    var entries: [Entry] {
        nodes.filter { $0.entry != nil }.sorted { $0.sequence < $1.sequence }.compactMap(\.entry)
    }
}
