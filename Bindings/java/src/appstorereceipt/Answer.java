package appstorereceipt;

/**
 * An answer of verifyReceipt.
 *
 * @param json the body of the response, which Apple sends with HTTP status 200
 * @param error the reason of an answer without a receipt, or null
 */
public record Answer(String json, VerificationError error) {}
