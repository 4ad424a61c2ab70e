/// Something that is done with an input and takes time.
struct Operation {
    let name: String
    /// Does it once.
    let measure: () -> (time: Int, outcome: String)
    /// What is too little to be told from noise, in nanoseconds.
    let resolution: Int
    /// The first n that is tried.
    let firstSize: Int
    /// Whether the smallest input takes as long in every place: most of it is the start of a process.
    let hasCommonBase: Bool

    /// - Parameter body: gives what depends on all that it did, so that nothing of it is left out as useless.
    init(_ name: String, _ body: @escaping () -> Work) {
        self.name = name
        resolution = 100_000
        firstSize = 1 << 10
        hasCommonBase = false
        measure = {
            var work = Work("")
            let time = processorTime { work = body() }
            Sink.add(work.count)
            return (time, work.outcome)
        }
    }

    /// Work of another process.
    init(_ name: String, process: @escaping () -> (time: Int, outcome: String)) {
        self.name = name
        resolution = 1_000_000
        firstSize = 1 << 13
        hasCommonBase = true
        measure = process
    }
}

/// What came of an operation.
struct Work {
    /// Anything that depends on all that was done.
    var count = 0
    /// What a reader is told: an error's code, or that there was none.
    var outcome: String

    init(_ outcome: String, _ count: Int = 0) {
        self.outcome = outcome
        self.count = count
    }

    /// How much text there is, of which nothing could be left out.
    static func size(_ text: String?) -> Int { text?.utf8.count ?? 0 }
}

private enum Sink {
    nonisolated(unsafe) private(set) static var sum = 0
    static func add(_ value: Int) { unsafe sum &+= value }
}
