import AppStoreReceipt
import HTTPService

/// `POST /v1/verify`: evidence of any kind, as it is. The answer is the verdict's JSON, and the HTTP status that of its category.
func verifyRoute(_ verifier: AppStoreVerifier) -> Route {
    Route(.only("POST"), "/v1/verify") { request in
        do throws(VerificationError) {
            return Response(body: Array(try verifier.verify(request.body).json.utf8))
        } catch {
            return Response(status: error.category.httpStatus, body: Array(error.json.utf8), code: error.code)
        }
    }
}
