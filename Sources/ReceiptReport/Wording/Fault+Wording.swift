@_spi(Surfaces) import AppStoreReceipt

// English is the table of faults itself.
extension VerificationError {
    /// What is wrong, as a sentence.
    func sentence(in language: Language) -> String {
        switch language {
        case .english: explanation.prefix(1).uppercased() + explanation.dropFirst() + "."
        case .simplifiedChinese: ChineseFaults.explanation(of: fault) + "。"
        }
    }

    /// What to do, in the words of an audience.
    func advice(for audience: Audience, in language: Language) -> String {
        switch language {
        case .english: advice(for: audience)
        case .simplifiedChinese: ChineseFaults.advice(on: fault)
        }
    }
}
