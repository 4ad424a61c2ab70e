package appstorereceipt;

import java.time.Instant;
import java.util.List;

/**
 * What the evidence of one customer gives access to. Refused pieces give access to nothing; the others count.
 *
 * @param error the error of the first piece that was refused, or null
 */
public record Entitlements(Instant at, List<Entitlement> items, List<Refusal> refused, String json, VerificationError error) {
    static Entitlements of(String json, VerificationError error) {
        Json.Decided decided = Json.record(json, Json.Decided.class);
        List<Refusal> refused = decided.refused().stream().map(piece -> new Refusal(
            piece.index(), piece.error().code(), piece.error().category(), piece.error().message())).toList();
        return new Entitlements(decided.at(), decided.items(), refused, json, error);
    }
}
