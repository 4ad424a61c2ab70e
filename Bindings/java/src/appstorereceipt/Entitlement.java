package appstorereceipt;

import java.time.Instant;
import java.util.Map;
import java.util.Set;

/**
 * What one transaction gives access to.
 *
 * @param members all members of the JSON
 */
public record Entitlement(
    String transactionId, String originalTransactionId, String productId, String access, Instant until, long quantity,
    Map<String, Object> members) {

    Entitlement(Map<String, Object> members) {
        this(
            (String) members.get("transaction_id"), (String) members.get("original_transaction_id"),
            (String) members.get("product_id"), (String) members.get("access"),
            members.get("until") instanceof String until ? Instant.parse(until) : null, (Long) members.get("quantity"), members);
    }

    /** Whether the transaction gives access. */
    public boolean givesAccess() {
        return Set.of("active", "owned", "consumable").contains(access);
    }
}
