package appstorereceipt;

import java.time.Instant;

/**
 * What one transaction gives access to. A date or a token that it does not have is null.
 *
 * @param access {@code active}, {@code owned}, {@code consumable}, or the reason it gives no access
 * @param givesAccess whether the product may be used at the date; a consumable gives no access that lasts
 * @param grantable whether it can be granted, once: it gives access, or is a consumable with a quantity of at least 1
 */
public record Entitlement(
    String transactionId, String originalTransactionId, String productId, String access, boolean givesAccess,
    boolean grantable, Instant until, long quantity, Instant purchaseDate, Instant expiresDate, String appAccountToken) {}
