/// A row of the table of faults: what is wrong, which check finds it, who is at fault, and what to do.
///
/// The rows stand in `Fault+Table.swift`. Everything that a surface says about an error comes from its row.
@_spi(Surfaces) public struct Fault: Sendable {
    /// The party at fault. Categories, statuses and retries follow from this alone.
    public enum Party: String, Sendable, CaseIterable {
        /// The client: other evidence can be accepted.
        case client
        /// The maker of the evidence: it is well formed, but not signed by a trusted authority.
        case forger
        /// This version of the library: it cannot read what a trusted authority signed.
        case library
        /// The configuration of the verifier.
        case configuration
        /// The host, so that nothing is known about the evidence.
        case host
    }

    public let code: String
    public let stage: VerificationError.Stage
    public private(set) var party: Party
    /// A clause that says what is wrong.
    public let explanation: String
    /// Advice is made on demand: codes and categories are needed more often, also when memory has run out.
    private let makeAdvice: @Sendable () -> Advice

    /// One or two sentences that say what to do, in the words of an audience.
    public func advice(for audience: Audience) -> String { makeAdvice().text(for: audience) }

    init(
        _ code: String, _ stage: VerificationError.Stage, _ party: Party, _ explanation: String,
        _ advice: @escaping @Sendable () -> Advice
    ) {
        self.code = code
        self.stage = stage
        self.party = party
        self.explanation = explanation
        makeAdvice = advice
    }

    /// The fault of truncated evidence with known lengths.
    func with(_ truncation: Truncation) -> Fault {
        Fault(code, stage, .client, InputError.Kind.truncated.fault.explanation, { .cutOff(truncation.cut) })
    }

    /// The place in the article *The client sends something else* that is about the code; `nil` for a code that it does
    /// not name.
    public var page: String? { InputError.Kind.namesWhatClientsSend(code) ? "WhatClientsSend.md#\(code)" : nil }

    /// The fault of a signed part of a notification, which a trusted authority has signed: what is wrong with it is not
    /// the client's fault.
    var ofSignedPart: Fault {
        guard stage != .policy, party == .client || party == .forger else { return self }
        var fault = self
        fault.party = .library
        return fault
    }
}

extension Fault.Party {
    @_spi(Surfaces) public var category: VerificationError.Category {
        switch self {
        case .client: .client
        case .forger: .forgery
        case .library, .configuration, .host: .host
        }
    }

    /// The category if the evidence is one piece of several. If the library or the options cannot decide, only that
    /// piece is refused.
    @_spi(Surfaces) public var categoryAmongOthers: VerificationError.Category {
        switch self {
        case .library, .configuration: .client
        case .client, .forger, .host: category
        }
    }
}

extension VerificationError {
    /// The row of this error in the table of faults.
    @_spi(Surfaces) public var fault: Fault {
        let fault = part == nil ? reason.fault : reason.fault.ofSignedPart
        return truncation.map { fault.with($0) } ?? fault
    }

    /// A stable word for programs, such as `bundle-id-mismatch`. The article <doc:Errors> lists all of them.
    public var code: Code { Code(rawValue: fault.code) }

    /// The check that failed.
    public var stage: Stage { fault.stage }

    /// A clause that says what is wrong, without the values and the place.
    public var explanation: String { fault.explanation }

    /// One or two sentences that say what to do. They name the members of this library's API.
    public var advice: String { advice(for: .swift) }

    /// One or two sentences that say what to do, in the words of an audience.
    @_spi(Surfaces) public func advice(for audience: Audience) -> String { fault.advice(for: audience) }
}
