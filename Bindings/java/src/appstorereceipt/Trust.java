package appstorereceipt;

import java.time.Instant;

/** Who signed the evidence. The fingerprints are SHA-256 in hexadecimal. */
public record Trust(
    String authority, String anchor, String signer, Instant signerExpires, String digest, Instant validatedAt) {}
