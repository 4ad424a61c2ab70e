import AppStoreReceipt
public import CAppStoreReceipt
import CProcess

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The lowest two bits of the flags say which JSON.
private let jsonFlags: UInt32 = 3

@c(asr_verify) @implementation
public func asr_verify(
    _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ length: Int, _ flags: UInt32,
    _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ json_length: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<asr_error>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    let outputs = unsafe Outputs(json, json_length, error)
    guard let verifier = unsafe Verifier.at(verifier), let evidence = unsafe bytes(evidence, length),
        flags <= ASR_JSON_NONE
    else { return outputs.usage() }
    let takesJSON = flags != ASR_JSON_NONE && outputs.takesJSON
    do throws(VerificationError) {
        let verified = try verifier.verifier.verify(evidence)
        guard takesJSON else { return Status.verified }
        return outputs.write(flags == ASR_JSON_BRIEF ? verified.verdictJSON : verified.json, Status.verified)
    } catch {
        return outputs.refusal(error, withJSON: takesJSON)
    }
}

@c(asr_entitlements) @implementation
public func asr_entitlements(
    _ verifier: OpaquePointer?, _ evidence: UnsafeRawPointer?, _ lengths: UnsafePointer<Int>?, _ count: Int,
    _ date: Int64, _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
    _ json_length: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<asr_error>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    let outputs = unsafe Outputs(json, json_length, error)
    guard let verifier = unsafe Verifier.at(verifier), count >= 0, unsafe lengths != nil || count == 0, date != .min
    else { return outputs.usage() }
    guard count <= Entitlements.maximumEvidenceCount else {
        outputs.fail("too-much-evidence", "client")
        return Status.refused
    }
    var position = 0
    var verified: [VerifiedEvidence] = []
    var refusals: [String] = []
    var first: VerificationError?
    for (index, length) in unsafe [Int](UnsafeBufferPointer(start: lengths, count: count)).enumerated() {
        let (end, overflows) = position.addingReportingOverflow(length)
        guard !overflows, let piece = unsafe bytes(evidence.map { unsafe $0 + position }, length) else {
            return outputs.usage()
        }
        position = end
        do throws(VerificationError) {
            verified.append(try verifier.verifier.verify(piece))
        } catch {
            refusals.append("{\"index\":\(index),\(errorMember(of: error))")
            if first == nil || (error.isHostFault && first?.isHostFault == false) { first = error }
        }
    }
    if let first { outputs.fail(first.code, first.category.rawValue) }
    // A piece that cannot be accepted is no failure of the others. Without one that could not be verified, nobody knows what is missing.
    let status = first.map { $0.isHostFault ? Status.host : Status.refused } ?? Status.verified
    guard outputs.takesJSON else { return status }
    let instant = date == .max ? verifier.verifier.policy.clock() : Instant(millisecondsSince1970: date)
    let items = Entitlements(verified, at: instant).json.dropLast()
    return outputs.write("\(items),\"refused\":[\(refusals.joined(separator: ","))]}", status)
}

/// Returns `"error":{…}}`, the end of the JSON of an error. No member before it has that name.
private func errorMember(of error: VerificationError) -> Substring {
    var json = error.json[...]
    while !json.isEmpty, !json.utf8.starts(with: "\"error\":".utf8) { json.removeFirst() }
    return json
}

@c(asr_answer) @implementation
public func asr_answer(
    _ verifier: OpaquePointer?, _ body: UnsafeRawPointer?, _ length: Int, _ flags: UInt32,
    _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ json_length: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<asr_error>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    let outputs = unsafe Outputs(json, json_length, error)
    guard let verifier = unsafe Verifier.at(verifier), let body = unsafe bytes(body, length),
        flags & ~UInt32(ASR_ANSWER_LATEST_RECEIPT_INFO) <= ASR_JSON_NONE
    else { return outputs.usage() }
    let answer: VerifyReceiptAnswer
    do throws(VerificationError) {
        answer = try verifier.responder(fillsLatestReceiptInfo: flags & UInt32(ASR_ANSWER_LATEST_RECEIPT_INFO) != 0)
            .answer(to: body)
    } catch {
        return outputs.refusal(error)
    }
    var status = Status.verified
    if case .failure(let error) = answer.result { status = outputs.refusal(error, withJSON: false) }
    guard flags & jsonFlags != ASR_JSON_NONE, outputs.takesJSON else { return status }
    return unsafe answer.body.withUnsafeBufferPointer { unsafe outputs.write($0, status) }
}

@c(asr_decode_unverified) @implementation
public func asr_decode_unverified(
    _ evidence: UnsafeRawPointer?, _ length: Int, _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
    _ json_length: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<asr_error>?
) -> asr_status {
    process_enter()
    defer { process_leave() }
    let outputs = unsafe Outputs(json, json_length, error)
    guard let evidence = unsafe bytes(evidence, length) else { return outputs.usage() }
    do throws(VerificationError) {
        return outputs.write(try UnverifiedEvidence(decoding: evidence).json, Status.decoded)
    } catch {
        return outputs.refusal(error)
    }
}

@c(asr_free) @implementation
public func asr_free(_ pointer: UnsafeMutableRawPointer?) { unsafe free(pointer) }
