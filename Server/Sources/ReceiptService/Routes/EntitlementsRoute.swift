import AppStoreReceipt
import HTTPService
import ServerText

/// `POST /v1/entitlements`: the evidence of one customer, and what it entitles to at a date.
///
/// If a piece is refused, the items of the others are in the answer, and the HTTP status is that of the worst refusal. It is 500 only if the host could not
/// verify a piece: signed contents that cannot be read are a refusal of their piece alone.
func entitlementsRoute(
    _ verifier: AppStoreVerifier, endOfNonRenewing: @escaping @Sendable (Purchase) -> Instant?
) -> Route {
    Route(.only("POST"), "/v1/entitlements") { request in
        do throws(RequestFault) {
            let asked = try EntitlementsRequest(request.body.span)
            return answer(asked, verifier, endOfNonRenewing)
        } catch {
            return error.response
        }
    }
}

private func answer(
    _ request: EntitlementsRequest, _ verifier: AppStoreVerifier, _ endOfNonRenewing: (Purchase) -> Instant?
) -> Response {
    var verified: [VerifiedEvidence] = []
    var refusals = JSONWriter()
    var worst: VerificationError?
    refusals.beginArray()
    for (index, piece) in request.evidence.enumerated() {
        do throws(VerificationError) {
            verified.append(try verifier.verify(piece))
        } catch {
            refusals.beginObject()
            refusals.name("index")
            refusals.integer(Int64(index))
            refusals.name("error")
            let json = Array(error.json.utf8)
            refusals.raw(json.span.extracting(errorMember(of: json)))
            refusals.endObject()
            if worst.map({ $0.statusAmongOthers < error.statusAmongOthers }) ?? true { worst = error }
        }
    }
    refusals.endArray()
    let entitlements = Entitlements(
        verified, at: request.date ?? verifier.policy.clock(), endOfNonRenewing: endOfNonRenewing)
    var body = Array(entitlements.json.utf8)
    // The object ends with the refusals.
    body.removeLast()
    body += Array(",\"refused\":".utf8) + refusals.bytes + [UInt8(ascii: "}")]
    return Response(status: worst?.statusAmongOthers ?? 200, body: body, code: worst?.code ?? "ok")
}

extension VerificationError {
    /// The HTTP status of an answer about several pieces of evidence, one of which was refused.
    fileprivate var statusAmongOthers: Int {
        category == .host && !isHostFault ? Category.client.httpStatus : category.httpStatus
    }
}

/// Returns where the value of the member `error` is in the JSON of an error.
private func errorMember(of json: [UInt8]) -> Range<Int> {
    var range = 0..<0
    try? JSONCursor.decode(json.span) { (cursor) throws(JSONError) in
        try cursor.readObject { (cursor, name) throws(JSONError) in
            if name == "error" { range = try cursor.skipValue() }
        }
    }
    return range
}

/// `{"evidence":["…",…],"at":"2025-01-31T12:00:00Z"}`. One piece may stand without the array, and without a date it is now.
struct EntitlementsRequest {
    private(set) var evidence: [[UInt8]] = []
    private(set) var date: Instant?

    private enum Member: String, CaseIterable { case evidence, at }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        var evidence: [[UInt8]] = []
        var date: Instant?
        var fault: RequestFault?
        do throws(JSONError) {
            try JSONCursor.decode(body) { (cursor) throws(JSONError) in
                try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
                    switch member {
                    case .evidence where try cursor.peekType() == .string:
                        evidence.append(try cursor.readString().bytes)
                    case .evidence:
                        try cursor.readArray { (cursor) throws(JSONError) in
                            let piece = try cursor.readString()
                            if evidence.count < Entitlements.maximumEvidenceCount {
                                evidence.append(piece.bytes)
                            } else {
                                fault = .tooManyPieces
                            }
                        }
                    case .at:
                        if try cursor.readIfNull() { return }
                        let text = try cursor.readString().value
                        date = Instant(rfc3339: text) ?? Instant(rfc3339: text + "T00:00:00Z")
                        if date == nil { fault = fault ?? .invalidDate }
                    }
                }
            }
        } catch {
            throw .invalidJSON(offset: error.offset)
        }
        if let fault { throw fault }
        guard !evidence.isEmpty else { throw .missingEvidence }
        self.evidence = evidence
        self.date = date
    }
}

/// The reason a request cannot be read. Its evidence is not at fault.
enum RequestFault: Error, Hashable {
    case invalidJSON(offset: Int)
    case missingEvidence
    case tooManyPieces
    case invalidDate

    var response: Response {
        switch self {
        case .invalidJSON(let offset):
            Response(
                status: 400, errorCode: "invalid-json",
                message: "the body is not the expected JSON object, as byte \(offset) shows")
        case .missingEvidence:
            Response(
                status: 400, errorCode: "missing-evidence",
                message: "'evidence' must be a string or an array of at least one string")
        case .tooManyPieces:
            Response(
                status: 400, errorCode: "too-much-evidence",
                message: "'evidence' may have at most \(Entitlements.maximumEvidenceCount) strings")
        case .invalidDate:
            Response(
                status: 400, errorCode: "invalid-date",
                message: "'at' must be a date such as 2025-01-31 or 2025-01-31T12:00:00Z")
        }
    }
}
