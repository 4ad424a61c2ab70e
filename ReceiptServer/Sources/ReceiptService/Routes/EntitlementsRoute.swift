@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import StrictText

/// The route `POST /v1/entitlements`: takes the evidence of one customer, and returns its entitlements at a date.
///
/// If a piece is refused, the answer contains the items of the others, and the HTTP status of the worst refusal. The
/// status is 500 only if the host couldn't verify a piece. If signed contents can't be read, only their piece is
/// refused.
func entitlementsRoute(
    _ verifier: AppStoreVerifier, productTypes: ProductCatalog
) -> Route {
    Route(.only("POST"), "/v1/entitlements") { request in
        let asked = try EntitlementsRequest(request.body.span)
        let decision = verifier.decision(on: asked.evidence, at: asked.date, productTypes: productTypes)
        return Response(
            status: decision.httpStatus, body: Array(decision.json(for: .httpStranger).utf8),
            code: decision.worstRefusal?.error.code.rawValue ?? decision.entitlements.nothing?.rawValue ?? "ok")
    }
}

/// `{"evidence":["…",…],"at":"2025-01-31T12:00:00Z"}`. A single piece can be given without the array. The default date
/// is now.
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
                            do throws(TooMuchEvidence) {
                                try TooMuchEvidence.check(pieceCount: evidence.count + 1)
                                evidence.append(piece.bytes)
                            } catch {
                                fault = RequestFault(EvidenceFault.tooMuchEvidence)
                            }
                        }
                    case .at:
                        if try cursor.readIfNull() { return }
                        let text = try cursor.readString().value
                        date = Instant(specified: text)
                        if date == nil { fault = fault ?? .noDate("at") }
                    }
                }
            }
        } catch {
            throw RequestFault(HTTPFault.invalidJSON, "see byte \(error.offset)")
        }
        if let fault { throw fault }
        guard !evidence.isEmpty else { throw RequestFault(EvidenceFault.missingEvidence) }
        self.evidence = evidence
        self.date = date
    }
}

/// The reasons for which evidence isn't examined.
enum EvidenceFault: String, ServiceFault {
    case missingEvidence = "missing-evidence"
    case tooMuchEvidence = "too-much-evidence"

    var row: FaultRow {
        switch self {
        case .missingEvidence:
            FaultRow(
                400, "the request has no evidence",
                "Send 'evidence' as a string, or as an array of at least one string.")
        case .tooMuchEvidence:
            FaultRow(
                TooMuchEvidence.fault.party.category.httpStatus, TooMuchEvidence.fault.explanation,
                TooMuchEvidence.fault.advice(for: .httpClient))
        }
    }
}
