package appstorereceipt;

import java.time.Instant;
import java.util.List;

/**
 * What the evidence of one customer gives access to.
 *
 * @param error the error of the first piece that was refused, or null. Refused pieces give access to nothing; the others count
 */
public record Entitlements(Instant at, List<Entitlement> items, String json, VerificationError error) {}
