import AppStoreReceipt

/// An operation on an input.
struct Operation {
    let name: String
    /// Runs the operation once.
    let measure: () -> (time: Int, outcome: String)
    /// The time that cannot be distinguished from noise, in nanoseconds.
    let resolution: Int
    /// The first n.
    let firstSize: Int
    /// Whether the smallest input takes the same time in every place, because most of it is the start of a process.
    let hasCommonBase: Bool

    /// - Parameter body: returns a value that depends on all of its work, so that the compiler removes none of it.
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

    /// The operation of another process.
    init(_ name: String, process: @escaping () -> (time: Int, outcome: String)) {
        self.name = name
        resolution = 1_000_000
        firstSize = 1 << 13
        hasCommonBase = true
        measure = process
    }
}

/// The result of an operation.
struct Work {
    /// A value that depends on all of the work.
    var count = 0
    /// The text for the table: the code of the error, or that there was none.
    var outcome: String

    init(_ outcome: String, _ count: Int = 0) {
        self.outcome = outcome
        self.count = count
    }

    /// The length of a text, which depends on all of the work.
    static func size(_ text: String?) -> Int { text?.utf8.count ?? 0 }

    /// The result of a verification that is read, or its error in all its forms.
    init<Value>(
        _ result: Result<Value, VerificationError>, of bytes: [UInt8], _ outcome: String = "accepted",
        reading: (Value) -> Int
    ) {
        switch result {
        case .success(let value): self.init(outcome, reading(value))
        case .failure(let error):
            let texts = [error.description, error.json, error.advice, error.path, error.excerpt(of: bytes)]
            self.init(error.code.rawValue, texts.reduce(0) { $0 + Self.size($1) })
        }
    }
}

// MARK: - Operations on evidence of any kind

extension Operation {
    static func verdict(onLine line: [UInt8]) -> Operation {
        Operation("verdict in a batch") {
            let verdict = Verifiers.lenient.verdict(on: line)
            let work = Work(verdict.result)
            return Work(work.outcome, Work.size(verdict.json) + Work.size(verdict.briefJSON))
        }
    }

    static func answer(to receipt: [UInt8]) -> Operation {
        Operation("VerifyReceiptResponder") {
            let answer = Verifiers.responder.answer(toAnyReceipt: receipt)
            return Work("status \(answer.status.rawValue)", answer.body.count)
        }
    }
}

/// Repeats a unit to about the size of a filling.
func repeated(_ unit: [UInt8], like filling: [UInt8]) -> [UInt8] {
    Array(repeatElement(unit, count: filling.count / unit.count + 1).joined())
}

private enum Sink {
    nonisolated(unsafe) private(set) static var sum = 0
    static func add(_ value: Int) { unsafe sum &+= value }
}
