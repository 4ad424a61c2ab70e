@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// Verifies the lines of a block, and writes the verdicts into it.
struct BatchWorker: Sendable {
    let verifier: AppStoreVerifier
    let audience: Audience
    let isBrief: Bool
    /// The lines whose verdicts are wanted; `nil` for all.
    let only: Verdict?
    let maximumLineByteCount: Int

    enum Verdict: String, CaseIterable { case refused, verified }

    func work(_ block: borrowing LineBlock) {
        block.withContents { contents in
            for (index, line) in contents.lines.enumerated() {
                let verdict: BatchVerdict
                if line.count <= maximumLineByteCount {
                    verdict = verifier.verdict(on: contents.bytes.span.extracting(line))
                } else {
                    verdict = BatchVerdict(
                        .failure(.input(InputError(.inputTooLarge, armor: nil, offset: maximumLineByteCount))))
                }
                let result = LineResult(verdict.result)
                contents.results.append(result)
                guard result.isPrinted(by: only) else { continue }
                if only != nil { contents.shown.append(index) }
                contents.output.verdict(
                    verdict, isBrief: isBrief, from: only == nil ? nil : .line(contents.firstNumber + index),
                    for: audience)
                contents.output.endLine()
            }
        }
    }
}
