package appstorereceipt;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Evidence that was verified.
 *
 * @param verdictJson the verdict, to store; null with {@link Form#NONE}
 */
public record Evidence(String verdictJson) {
    /** A notification's signed parts are members too. */
    private static final List<String> KINDS = List.of(
        "receipt", "notification", "transaction", "renewal_info", "app_transaction", "realtime_request", "transaction_receipt");

    /** The whole verdict: maps, lists, strings, numbers and booleans. It is empty with {@link Form#NONE}. */
    public Map<String, Object> verdict() {
        return verdictJson == null ? Map.of() : Json.object(Json.parse(verdictJson));
    }

    /** The name of the member that has the contents: {@code receipt}, {@code transaction}, {@code notification}, … */
    public String kind() {
        return kind(verdict());
    }

    private static String kind(Map<String, Object> verdict) {
        if (verdict.get("kind") instanceof String kind) return kind;
        return KINDS.stream().filter(verdict::containsKey).findFirst().orElse(null);
    }

    /** The member that {@link #kind} names; null with {@link Form#BRIEF}. */
    public Map<String, Object> contents() {
        Map<String, Object> verdict = verdict();
        return Json.object(verdict.get(kind(verdict)));
    }

    public Trust trust() {
        Map<String, Object> trust = Json.object(verdict().get("trust"));
        if (trust == null) return null;
        return new Trust(
            (String) trust.get("authority"), (String) trust.get("anchor"), (String) trust.get("signer"),
            Instant.parse((String) trust.get("signer_expires")), (String) trust.get("digest"),
            Instant.parse((String) trust.get("validated_at")));
    }
}
