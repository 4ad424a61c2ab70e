@_spi(Surfaces) import AppStoreReceipt
import CAppStoreReceipt

/// The environments of `ASR_ENVIRONMENT_PRODUCTION` and those after it.
private let environments: [AppStoreEnvironment] = [.production, .sandbox, .xcode, .localTesting]

/// The lowest two bits of the flags say which JSON.
private let jsonFlags: UInt32 = 3

extension Library {
    static func verify(
        _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ length: Int, _ flags: UInt32, _ outputs: Outputs
    ) -> asr_status {
        guard let verifier = unsafe Verifier.at(verifier), let evidence = unsafe evidenceBytes(evidence, length),
            flags <= ASR_JSON_NONE
        else { return outputs.usage() }
        let takesJSON = flags != ASR_JSON_NONE && outputs.takesJSON
        do throws(VerificationError) {
            let verified = try verifier.verifier.verify(evidence)
            guard takesJSON else { return Status.verified }
            return flags == ASR_JSON_BRIEF
                ? outputs.write(verified.verdictJSON, Status.verified)
                : outputs.write(verified.jsonUTF8, Status.verified)
        } catch {
            return outputs.refusal(error, for: verifier.surface, withJSON: takesJSON)
        }
    }

    static func entitlements(
        _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ lengths: UnsafePointer<Int>?, _ count: Int,
        _ date: Int64, _ environment: UInt32, _ outputs: Outputs
    ) -> asr_status {
        guard let verifier = unsafe Verifier.at(verifier), count >= 0, unsafe lengths != nil || count == 0,
            date != .min, environment <= environments.count
        else { return outputs.usage() }
        let environment = environment == 0 ? nil : environments[Int(environment) - 1]
        do throws(TooMuchEvidence) {
            try TooMuchEvidence.check(pieceCount: count)
        } catch {
            let fault = TooMuchEvidence.fault
            outputs.fail(fault.code, fault.party.category.rawValue)
            return Status.refused
        }
        let lengths = unsafe [Int](UnsafeBufferPointer(start: lengths, count: count))
        guard let ranges = ranges(of: lengths), unsafe evidence != nil || lengths.allSatisfy({ $0 == 0 }) else {
            return outputs.usage()
        }
        let all = unsafe UnsafeRawBufferPointer(start: evidence, count: ranges.last?.upperBound ?? 0)
        // Each piece is copied when its turn comes.
        let decision: Decision
        do throws(VerificationError) {
            decision = try verifier.verifier.decision(
                on: ranges.lazy.map { unsafe [UInt8](all[$0.prefix(VerificationLimits.refusedByteCount)]) },
                inEnvironment: environment, at: date == .max ? nil : Instant(millisecondsSince1970: date),
                productTypes: verifier.productTypes)
        } catch {
            return outputs.refusal(error, for: verifier.surface)
        }
        // A refused piece does not fail the others. If this host cannot verify one, nobody knows what it contains.
        let refusals = decision.refusals
        let hostFault = refusals.first { $0.error.isHostFault }
        if let refusal = hostFault ?? refusals.first {
            outputs.fail(refusal.error.code.rawValue, refusal.error.category.rawValue)
        }
        let status = hostFault != nil ? Status.host : refusals.isEmpty ? Status.verified : Status.refused
        return outputs.takesJSON ? outputs.write(decision.json(for: .user(of: verifier.surface)), status) : status
    }

    /// The ranges of consecutive pieces of these lengths; `nil` if no memory is that large.
    private static func ranges(of lengths: [Int]) -> [Range<Int>]? {
        var ranges: [Range<Int>] = []
        var position = 0
        for length in lengths {
            let (end, overflows) = position.addingReportingOverflow(length)
            // A length over half of the address space is negative in Swift.
            guard length >= 0, !overflows else { return nil }
            ranges.append(position..<end)
            position = end
        }
        return ranges
    }

    static func answer(
        _ verifier: OpaquePointer?, _ body: UnsafeRawPointer?, _ length: Int, _ flags: UInt32, _ outputs: Outputs
    ) -> asr_status {
        guard let verifier = unsafe Verifier.at(verifier), let body = unsafe evidenceBytes(body, length),
            flags & ~UInt32(ASR_ANSWER_LATEST_RECEIPT_INFO) <= ASR_JSON_NONE
        else { return outputs.usage() }
        let answer: VerifyReceiptAnswer
        do throws(VerificationError) {
            answer = try verifier.responder(fillsLatestReceiptInfo: flags & UInt32(ASR_ANSWER_LATEST_RECEIPT_INFO) != 0)
                .answer(to: body)
        } catch {
            return outputs.refusal(error, for: verifier.surface)
        }
        var status = Status.verified
        if case .failure(let error) = answer.result { status = outputs.refusal(error, withJSON: false) }
        guard flags & jsonFlags != ASR_JSON_NONE, outputs.takesJSON else { return status }
        return outputs.write(answer.body, status)
    }

    static func extractTransactionIdFromAppReceipt(
        _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ length: Int, _ outputs: Outputs
    ) -> asr_status {
        unsafe transactionID(verifier, evidence, length, outputs) { (verifier, evidence) throws(VerificationError) in
            try verifier.extractTransactionID(appReceipt: evidence)
        }
    }

    static func extractTransactionIdFromTransactionReceipt(
        _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ length: Int, _ outputs: Outputs
    ) -> asr_status {
        unsafe transactionID(verifier, evidence, length, outputs) { (verifier, evidence) throws(VerificationError) in
            try verifier.extractTransactionID(transactionReceipt: evidence)
        }
    }

    private static func transactionID(
        _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ length: Int, _ outputs: Outputs,
        _ extract: (AppStoreVerifier, [UInt8]) throws(VerificationError) -> String?
    ) -> asr_status {
        guard let verifier = unsafe Verifier.at(verifier), let evidence = unsafe evidenceBytes(evidence, length) else {
            return outputs.usage()
        }
        do throws(VerificationError) {
            let id = try extract(verifier.verifier, evidence)
            return outputs.write(AppStoreVerifier.json(transactionID: id), Status.verified)
        } catch {
            return outputs.refusal(error, for: verifier.surface)
        }
    }

    static func decodeUnverified(_ evidence: UnsafeRawPointer?, _ length: Int, _ outputs: Outputs) -> asr_status {
        guard let evidence = unsafe evidenceBytes(evidence, length) else { return outputs.usage() }
        do throws(VerificationError) {
            return outputs.write(try UnverifiedEvidence(decoding: evidence).json, Status.decoded)
        } catch {
            return outputs.refusal(error)
        }
    }
}
