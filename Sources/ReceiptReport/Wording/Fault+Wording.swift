@_spi(Surfaces) public import AppStoreReceipt

// English is the table of faults itself.
extension Fault {
    /// What is wrong, as a sentence.
    @_spi(Surfaces) public func sentence(in language: Language) -> String {
        switch language {
        case .english: explanation.prefix(1).uppercased() + explanation.dropFirst() + "."
        case .simplifiedChinese: ChineseFaults.explanation(of: self) + "。"
        }
    }

    /// What to do, in the words of an audience.
    @_spi(Surfaces) public func advice(for audience: Audience, in language: Language) -> String {
        switch language {
        case .english: advice(for: audience)
        case .simplifiedChinese: ChineseFaults.advice(on: self)
        }
    }
}

extension VerificationError {
    /// What is wrong, as a sentence.
    func sentence(in language: Language) -> String { fault.sentence(in: language) }

    /// What to do, in the words of an audience.
    func advice(for audience: Audience, in language: Language) -> String { fault.advice(for: audience, in: language) }
}
