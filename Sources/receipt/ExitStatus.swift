@_spi(Surfaces) import AppStoreReceipt

/// The exit status of the process. The worst of several counts.
enum ExitStatus: Int32, Comparable {
    /// Every input passed.
    case passed = 0
    /// At least one input was refused.
    case refused = 1
    /// The usage is wrong, a file cannot be read or written, or the host cannot verify.
    case unusable = 2
    /// SIGINT or SIGTERM ended the process. A shell reports 130 for a process that SIGINT killed.
    case interrupted = 130
    /// Standard output is a closed pipe. A shell reports 141 for a process that SIGPIPE killed.
    case closedPipe = 141

    /// What a status means, for the manual page.
    static let meanings = [
        (0, "Every input passed."),
        (1, "At least one input was refused."),
        (2, "The usage is wrong, a file cannot be read or written, or libcrypto on this host cannot do the work."),
        (130, "SIGINT or SIGTERM ended 'receipt batch'."),
        (141, "Standard output is a pipe that was closed."),
    ]

    /// Whether other threads may still be working, because the work was interrupted or its output could not be written.
    var leavesThreads: Bool { self >= .unusable }

    static func < (lhs: ExitStatus, rhs: ExitStatus) -> Bool { lhs.rawValue < rhs.rawValue }

    mutating func formMaximum(_ other: ExitStatus) { self = max(self, other) }
}

extension ExitStatus {
    /// The status for an error. A host that cannot verify is not a refusal.
    init(_ error: VerificationError) {
        switch error.fault.party {
        case .client, .forger, .library: self = .refused
        case .configuration, .host: self = .unusable
        }
    }

    /// The status for an error of one input among many. An input that the options cannot check is then refused, too,
    /// and does not fail the run.
    init(amongOthers error: VerificationError) { self = error.isHostFault ? .unusable : .refused }

    init<Value>(_ result: Result<Value, VerificationError>) {
        switch result {
        case .success: self = .passed
        case .failure(let error): self.init(error)
        }
    }
}

extension ExitStatus {
    /// The worst of the pieces counts.
    init(_ decision: Decision) {
        self = decision.pieces.reduce(.passed) { status, piece in
            switch piece.outcome {
            case .verified: status
            case .refused(let error): max(status, ExitStatus(amongOthers: error))
            case .unreadable: .unusable
            }
        }
    }
}
