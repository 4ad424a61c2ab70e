package appstorereceipt;

import java.time.Instant;
import java.util.Set;

/**
 * What one transaction gives access to. A date or a token that it does not have is null.
 *
 * @param access {@code active}, {@code owned}, {@code consumable}, or the reason it gives no access
 */
public record Entitlement(
    String transactionId, String originalTransactionId, String productId, String access, Instant until, long quantity,
    Instant purchaseDate, Instant expiresDate, String appAccountToken) {

    public boolean givesAccess() {
        return Set.of("active", "owned", "consumable").contains(access);
    }
}
