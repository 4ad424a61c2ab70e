@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import LedgerService

/// The route `POST /v1/verify`: takes evidence of any kind. The answer is the verdict as JSON, with the HTTP status of
/// its category.
func verifyRoute(_ verifier: AppStoreVerifier) -> Route {
    Route(.only("POST"), "/v1/verify") { request in
        let evidence = try verifier.verify(request.body)
        // Of the reasons for evidence without purchases, only an empty `in_app` is worth logging.
        let nothing = evidence.nothing == .emptyInApp ? evidence.nothing : nil
        return Response(body: evidence.jsonUTF8, code: nothing?.rawValue ?? "ok")
    }
}
