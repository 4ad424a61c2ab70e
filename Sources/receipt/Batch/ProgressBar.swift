/// The progress of long work, on a line of a terminal that is overwritten.
struct ProgressBar {
    /// The number of bytes to read; `nil` if it is not known.
    private let totalByteCount: Int?
    private let width: Int
    private let start: ContinuousClock.Instant
    private var lineCount = 0
    private var byteCount = 0

    /// - Parameter width: The width of the terminal, in characters.
    init(totalByteCount: Int?, width: Int, start: ContinuousClock.Instant) {
        self.totalByteCount = totalByteCount
        self.width = width
        self.start = start
    }

    mutating func advance(lineCount: Int, byteCount: Int) {
        self.lineCount += lineCount
        self.byteCount += byteCount
    }

    /// The share, the count, the rate and the remaining time, if they are known and fit.
    func text(at now: ContinuousClock.Instant) -> String {
        var text = counts(at: now)
        guard let totalByteCount, totalByteCount > 0 else { return String(text.prefix(width - 1)) }
        // A file may grow while it is read.
        let share = min(Double(byteCount) / Double(totalByteCount), 1)
        text = "\(Int(share * 100)) %  " + text
        if share > 0 { text += "  ETA \(((now - start) * ((1 - share) / share)).clockText)" }
        let barWidth = min(width - text.count - 4, 40)
        guard barWidth >= 4 else { return String(text.prefix(width - 1)) }
        let done = Int(share * Double(barWidth))
        return "[\(String(repeating: "#", count: done))\(String(repeating: ".", count: barWidth - done))] \(text)"
    }

    /// The text at the end.
    func summary(at now: ContinuousClock.Instant) -> String { "\(counts(at: now))  \((now - start).clockText)" }

    private func counts(at now: ContinuousClock.Instant) -> String {
        let seconds = (now - start) / .seconds(1)
        let rate = seconds > 0 ? Int((Double(lineCount) / seconds).rounded()) : 0
        return "\(lineCount) lines  \(rate) lines/s"
    }
}

/// A progress bar on standard error if that is a terminal.
struct TerminalProgress {
    private var bar: ProgressBar?
    private var lastShown: ContinuousClock.Instant?
    /// Whether output goes to the same terminal, where the bar would overwrite it.
    private let sharesTerminal = System.isTerminal(System.standardOutput)

    private static let interval = Duration.milliseconds(100)
    private static let wipe = "\r\u{1B}[K"

    init(totalByteCount: Int?, isHidden: Bool) {
        guard !isHidden, System.isTerminal(System.standardError) else { return }
        let width = System.columnCount(of: System.standardError) ?? 80
        bar = ProgressBar(totalByteCount: totalByteCount, width: width, start: .now)
    }

    /// Removes the bar. Call it before you write output.
    mutating func makeRoom() {
        guard sharesTerminal, lastShown != nil else { return }
        write(Self.wipe)
        lastShown = nil
    }

    mutating func advance(lineCount: Int, byteCount: Int) {
        guard bar != nil else { return }
        bar?.advance(lineCount: lineCount, byteCount: byteCount)
        let now = ContinuousClock.now
        if let lastShown, now - lastShown < Self.interval { return }
        lastShown = now
        write(Self.wipe + (bar?.text(at: now) ?? ""))
    }

    func end() {
        guard let bar else { return }
        write(Self.wipe + bar.summary(at: .now) + "\n")
    }

    private func write(_ text: String) {
        // An error of standard error cannot be reported.
        try? System.write(Array(text.utf8).span, to: System.standardError)
    }
}

extension Duration {
    /// `1:02:03`, or `2:03`.
    fileprivate var clockText: String {
        func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let seconds = components.seconds
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        return (hours > 0 ? "\(hours):\(twoDigits(minutes))" : "\(minutes)") + ":" + twoDigits(seconds % 60)
    }
}
