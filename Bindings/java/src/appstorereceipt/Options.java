package appstorereceipt;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * What a verifier accepts, and which certificates it trusts. Lists may be empty; other members may be null.
 *
 * @param bundleIds the apps to accept. Without any, compare the bundle id in the contents before you grant anything
 * @param environments {@code production}, {@code sandbox}, {@code xcode}, {@code local-testing}; at least one is required
 * @param appAppleId the app's Apple id, a number. Notifications and real-time requests have it
 * @param roots self-signed certificates in DER or PEM, trusted instead of Apple's
 * @param transactionReceiptIssuers intermediate certificates for transaction receipts of iOS 3 to 6
 * @param storekitTesting whether the roots are certificates of StoreKit Testing in Xcode
 * @param distrusted SHA-256 of certificates in hexadecimal. What they have signed is refused
 * @param maximumAge refuses older evidence
 * @param validationDate the date to validate certificates at; {@link Instant#MAX} is the present. The default is the evidence's own
 * @param allowsRsa1024 whether to accept transaction receipts of version 2, which have an RSA key of 1024 bits
 * @param clock where the verifier's clock stands still, for tests
 */
public record Options(
    List<String> bundleIds, List<String> environments, String appAppleId, List<byte[]> roots,
    List<byte[]> transactionReceiptIssuers, boolean storekitTesting, List<String> distrusted, Duration maximumAge,
    Instant validationDate, boolean allowsRsa1024, Instant clock) {

    /** Options for one app, with Apple's roots. */
    public Options(String bundleId, String... environments) {
        this(List.of(bundleId), List.of(environments), null, List.of(), List.of(), false, List.of(), null, null, false, null);
    }
}
